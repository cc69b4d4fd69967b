"""Prometheus metrics of the outbox, read from the database; kilit_rows and kilit_moves_total count its messages."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Now
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.batches.queues import Oldest
from kilit.lock.clock import database_time
from kilit.lock.models import Event
from kilit.workers.metrics import seconds_since
from outbox.models import Endpoint, LogPosition, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.models.position import WEBHOOKS

# By what is wrong with it: Kilit switches an endpoint off by itself when it is gone or has failed for long.
CONDITIONS = ("on", "failing", "off", "switched_off")


class OutboxCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        endpoints = GaugeMetricFamily("kilit_outbox_endpoints", "Endpoints in a condition", labels=["condition"])
        conditions = [_condition(*row) for row in Endpoint.objects.values_list("is_on", "off_reason", "failing_since")]
        for condition in CONDITIONS:
            endpoints.add_metric([condition], conditions.count(condition))
        yield endpoints
        yield GaugeMetricFamily(
            "kilit_outbox_reader_lag_seconds",
            "Age of the oldest event that no messages were made of",
            value=seconds_since(oldest_unread(), database_time()),
        )


def oldest_due(user: User | AnonymousUser | None = None) -> Oldest | None:
    """Return the message that could have been sent first; endpoints are asked one by one, each by its index."""
    first = OutboxMessage.objects.waiting().filter(endpoint=OuterRef("pk")).order_by("next_try_at", "id")
    ready = Endpoint.objects.on().filter(Q(wait_until=None) | Q(wait_until__lte=Now()))
    ready = (ready.visible_to(user) if user else ready).annotate(
        pk_of_first=Subquery(first.values("pk")[:1]),
        kind=Subquery(first.values("kind")[:1]),
        since=Subquery(first.values("next_try_at")[:1]),
    )
    endpoint: Any = ready.order_by(F("since").asc(nulls_last=True)).first()
    alerts = OutboxMessage.objects.waiting().filter(channel__isnull=False, channel__is_on=True)
    alert = alerts.defer("body").order_by("next_try_at").first() if user is None else None
    oldest = [Oldest(alert, alert.next_try_at)] if alert else []
    if endpoint and endpoint.since:
        message = OutboxMessage(pk=endpoint.pk_of_first, kind=endpoint.kind)
        oldest.append(Oldest(message, endpoint.since, str(endpoint), endpoint.kind))
    return min(oldest, key=lambda each: each.since, default=None)


def oldest_unread() -> datetime | None:
    """Return the time of the next event to read. Nothing is read unless an endpoint is on."""
    position = LogPosition.objects.filter(name=WEBHOOKS).first()
    if position is None or not Endpoint.objects.on().exists():
        return None
    unread = Event.objects.filter(pk__gt=position.event_id).order_by("pk")
    return unread.values_list("created_at", flat=True).first()


def _condition(is_on: bool, off_reason: str, failing_since: datetime | None) -> str:
    if is_on:
        return "failing" if failing_since else "on"
    return "off" if off_reason == OffReason.OPERATOR else "switched_off"
