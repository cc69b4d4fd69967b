"""Prometheus metrics computed from the database, so that every process reports the same."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Now
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.lock.clock import database_time
from kilit.lock.failures import EXPECTED_FAILURE
from kilit.lock.models import Count
from kilit.lock.models.counts import BESIDE_STATES
from kilit.workers.models import Heartbeat, Runner, SweepRun

# Apps add their own collectors. The default registry would report this process's memory instead of the queues.
registry = CollectorRegistry()
# By queue: since when the row that waits longest has waited for a worker, None if no row waits. Asked with each scrape,
# so one index must answer it.
oldest_waiting: dict[str, Callable[[], datetime | None]] = {}


class OldestCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily(
            "kilit_oldest_waiting_seconds", "How long the row that waits longest has waited", labels=["queue"]
        )
        now = database_time()
        for queue, since in oldest_waiting.items():
            gauge.add_metric([queue], seconds_since(since(), now))
        yield gauge


def seconds_since(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


class CountsCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("kilit_rows", "Rows in a state now", labels=["queue", "state"])
        moves = CounterMetricFamily("kilit_moves", "Moves into a state, new rows included", labels=["queue", "state"])
        expected = CounterMetricFamily("kilit_expected_failures", "Failures that were expected", labels=["queue"])
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        expectations: dict[str, int] = {}
        for total in Count.objects.totals():
            expectations.setdefault(total.queue, 0)
            if total.state == EXPECTED_FAILURE:
                expectations[total.queue] += total.entered
            if total.state in BESIDE_STATES:
                continue
            now, entered = sums.get((total.queue, total.state), (0, 0))
            sums[total.queue, total.state] = now + total.now, entered + total.entered
        for labels, (now, entered) in sums.items():
            rows.add_metric(labels, now)
            moves.add_metric(labels, entered)
        for queue, entered in expectations.items():
            expected.add_metric([queue], entered)
        yield from (rows, moves, expected)


class WorkersCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        beats, runners = Heartbeat.objects.exclude(beat_at=None), Runner.objects.all()
        sweeps = SweepRun.objects.exclude(finished_at=None)
        yield _ages("kilit_heartbeat_age_seconds", "Since a task went through", "supervisor", beats, "beat_at")
        yield _ages("kilit_runner_age_seconds", "Since a runner's last sign", "runner", runners, "alive_at")
        yield _ages("kilit_sweep_age_seconds", "Since a sweep last ended", "sweep", sweeps, "finished_at")
        good = GaugeMetricFamily("kilit_sweep_succeeded", "Whether a sweep's last run succeeded", labels=["sweep"])
        for name, succeeded in SweepRun.objects.exclude(succeeded=None).values_list("name", "succeeded"):
            good.add_metric([name], int(bool(succeeded)))
        yield good


def _ages(metric: str, about: str, label: str, rows: QuerySet[Any], column: str) -> Metric:
    gauge = GaugeMetricFamily(metric, about, labels=[label])
    age = ExpressionWrapper(Now() - F(column), output_field=DurationField())
    for name, span in rows.values_list("name", age):
        gauge.add_metric([name], span.total_seconds())
    return gauge
