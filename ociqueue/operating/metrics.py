"""Prometheus metrics of rows that wait, and of verdicts that Google owes; kilit_rows counts rows by state."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, DurationField, ExpressionWrapper, F, Min, OuterRef, Subquery
from django.db.models.functions import JSONObject, Now
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.batches.queues import Oldest
from ociqueue.models import Adjustment, Conversion, Receipt, Site
from ociqueue.models.sending import OLDEST_FIRST


def oldest_waiting(model: type[Conversion | Adjustment], user: User | AnonymousUser | None = None) -> Oldest | None:
    """Return the row that waits longest; each site is asked for its own, which an index has."""
    first = model.objects.waiting().filter(site=OuterRef("pk")).order_by(*OLDEST_FIRST)
    seen: Any = Site.objects.seen_by(user).active() if user else Site.objects.all()
    sites = seen.annotate(
        oldest=Subquery(first.values(name=JSONObject(pk="pk", key="source_key"))[:1]),
        since=Subquery(first.values("created_at")[:1]),
    )
    oldest = sites.order_by(F("since").asc(nulls_last=True)).values_list("oldest", "since", "name").first()
    if oldest is None or oldest[1] is None:
        return None
    row, since, site = oldest
    return Oldest(model(pk=row["pk"], source_key=row["key"]), since, site)


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
