"""Prometheus metrics computed from the database, so that every process reports the same."""

from collections.abc import Iterator
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Now
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.lock.models import Count
from kilit.workers.models import Heartbeat, Runner, SweepRun

# Apps add their own collectors. The default registry would report this process's memory instead of the queues.
registry = CollectorRegistry()


class CountsCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("kilit_rows", "Rows in a state now", labels=["queue", "state"])
        moves = CounterMetricFamily("kilit_moves", "Moves into a state, new rows included", labels=["queue", "state"])
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for total in Count.objects.totals():
            now, entered = sums.get((total.queue, total.state), (0, 0))
            sums[total.queue, total.state] = now + total.now, entered + total.entered
        for labels, (now, entered) in sums.items():
            rows.add_metric(labels, now)
            moves.add_metric(labels, entered)
        return iter((rows, moves))


class WorkersCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        silence = GaugeMetricFamily("kilit_heartbeat_age_seconds", "Since a task went through", labels=["supervisor"])
        for name, age in _ages(Heartbeat.objects.exclude(beat_at=None), "beat_at"):
            silence.add_metric([name], age)
        runners = GaugeMetricFamily("kilit_runner_age_seconds", "Since a runner's last sign", labels=["runner"])
        for name, age in _ages(Runner.objects.all(), "alive_at"):
            runners.add_metric([name], age)
        since = GaugeMetricFamily("kilit_sweep_age_seconds", "Since a sweep last ended", labels=["sweep"])
        for name, age in _ages(SweepRun.objects.exclude(finished_at=None), "finished_at"):
            since.add_metric([name], age)
        good = GaugeMetricFamily("kilit_sweep_succeeded", "Whether a sweep's last run succeeded", labels=["sweep"])
        for name, succeeded in SweepRun.objects.exclude(succeeded=None).values_list("name", "succeeded"):
            good.add_metric([name], 1 if succeeded else 0)
        return iter((silence, runners, since, good))


def _ages(rows: QuerySet[Any], column: str) -> list[tuple[str, float]]:
    age = ExpressionWrapper(Now() - F(column), output_field=DurationField())
    return [(name, span.total_seconds()) for name, span in rows.values_list("name", age)]
