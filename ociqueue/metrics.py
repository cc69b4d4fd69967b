"""Prometheus metrics of verdicts that Google owes; kilit_rows and kilit_moves_total count rows."""

from collections.abc import Iterator

from django.db.models import Count, DurationField, ExpressionWrapper, Min
from django.db.models.functions import Now
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ociqueue.models import Receipt


class VerdictCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        age = ExpressionWrapper(Now() - Min("received_at"), output_field=DurationField())
        found = Receipt.objects.open().aggregate(count=Count("pk"), age=age)
        yield GaugeMetricFamily(
            "kilit_verdicts_open", "Requests that Google took and gave no verdict on", value=found["count"]
        )
        yield GaugeMetricFamily(
            "kilit_verdict_oldest_seconds",
            "How long ago Google took the oldest of them",
            value=found["age"].total_seconds() if found["age"] else 0,
        )
