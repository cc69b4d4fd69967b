"""Prometheus metrics of cutting jobs, and what the dashboard compares with limits; kilit_rows counts jobs by state."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.batches.queues import Oldest
from kilit.lock.clock import database_time
from kilit.workers.metrics import seconds_since
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.models.job import ORDER, JobQuerySet
from orchestrator.planning.rules import valid_rules
from orchestrator.states import JobState

OPTIPLANNING, SAW = "optiplanning", "saw"
# What a job waits for: its state meanwhile, and when that began.
WAITS = {OPTIPLANNING: (JobState.OPTI_RUNNING, "opti_started_at"), SAW: (JobState.XML_READY, "handed_at")}
MOST_COUNTED = 1_000  # orders of a day
ALARMING_SHARE = 0.05
FEWEST_COUNTED = 20  # of fewer orders, one is more than that share


class HeldShare(NamedTuple):
    """Orders of the last 24 hours, without cancelled ones, and how many of them are on HOLD."""

    orders: int
    held: int

    @property
    def share(self) -> float:
        return self.held / self.orders if self.orders >= FEWEST_COUNTED else 0.0


def oldest_due(_user: object = None) -> Oldest | None:
    job = Job.objects.due().defer("payload", "figures").order_by(*ORDER).first()
    return Oldest(job, job.next_run_at) if job else None


def waiting_since() -> dict[str, datetime | None]:
    """Return since when a job has waited for OptiPlanning and for the saw; few jobs are in these states."""
    oldest = {name: Min(column, filter=Q(status=state)) for name, (state, column) in WAITS.items()}
    return jobs_with_others().aggregate(**oldest)


def jobs_with_others() -> JobQuerySet:
    return Job.objects.filter(status__in=[state for state, _ in WAITS.values()])


def wait_limits() -> dict[str, timedelta]:
    """Return how long either may take; nothing while there are no valid rules."""
    rules = valid_rules()
    return {OPTIPLANNING: rules.timeouts.opti_xml, SAW: rules.timeouts.osi_ack} if rules else {}


def held_share() -> HeldShare:
    """Count the newest orders of the last 24 hours. Orders of mode C that wait for their operator are not a problem."""
    newest = Job.objects.order_by("-id").values("pk")[:MOST_COUNTED]
    today = Job.objects.filter(pk__in=newest, created_at__gte=Now() - timedelta(days=1))
    held = Q(status=JobState.HOLD) & ~Q(error_code=Code.OPERATOR_TRIGGER_REQUIRED)
    return HeldShare(
        **today.exclude(error_code=Code.CANCELLED).aggregate(orders=Count("pk"), held=Count("pk", filter=held))
    )


class CuttingCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        waits = GaugeMetricFamily("kilit_cutting_wait_seconds", "How long a job has waited", labels=["party"])
        limits = GaugeMetricFamily("kilit_cutting_wait_limit_seconds", "How long it may wait", labels=["party"])
        now = database_time()
        for party, since in waiting_since().items():
            waits.add_metric([party], seconds_since(since, now))
        for party, limit in wait_limits().items():
            limits.add_metric([party], limit.total_seconds())
        yield from (waits, limits)
        yield GaugeMetricFamily(
            "kilit_cutting_held_share",
            "Share of the last 24 hours' orders that are on HOLD, without those that wait for their operator",
            value=held_share().share,
        )
