"""Prometheus metrics of rows that wait, and of verdicts that Google owes; kilit_rows counts rows by state."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, DurationField, ExpressionWrapper, Min, OuterRef, Subquery
from django.db.models.functions import Now
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ociqueue.models import Adjustment, Conversion, Receipt, Site


def oldest_waiting(model: type[Conversion | Adjustment]) -> datetime | None:
    """Return when the row that waits longest came; each site is asked for its own, which an index has."""
    first = model.objects.waiting().filter(site=OuterRef("pk")).order_by("created_at", "id")
    sites = Site.objects.annotate(since=Subquery(first.values("created_at")[:1]))
    since: datetime | None = sites.aggregate(oldest=Min("since"))["oldest"]
    return since


class VerdictCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        age = ExpressionWrapper(Now() - Min("received_at"), output_field=DurationField())
        verdicts = Receipt.objects.open().aggregate(count=Count("pk"), age=age)
        yield GaugeMetricFamily(
            "kilit_verdicts_open", "Requests that Google took and gave no verdict on", value=verdicts["count"]
        )
        yield GaugeMetricFamily(
            "kilit_verdict_oldest_seconds",
            "How long ago Google took the oldest of them",
            value=verdicts["age"].total_seconds() if verdicts["age"] else 0,
        )
