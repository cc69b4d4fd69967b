"""What is done with endpoints in the console and by API, and what other apps may know about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction

from kilit.api.webhooks import TEST, EndpointTestData
from kilit.lock.clock import database_time
from kilit.lock.models import Activity, ActivityKind
from kilit.workers import doorbells
from outbox.log_reader import webhook_body
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MESSAGES

MOST_COUNTED = 1000
LOOKED_AT = 200  # of an endpoint's newest messages

# Each count follows an index and stops at the cap.
READ = """
    SELECT endpoint.id,
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status IN ('QUEUED', 'RETRY') LIMIT %(most)s) AS counted),
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status = 'FAILED' LIMIT %(most)s) AS counted),
      (SELECT max(delivered_at) FROM (SELECT delivered_at FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id ORDER BY message.id DESC LIMIT %(looked_at)s) AS newest)
    FROM outbox_endpoint AS endpoint WHERE endpoint.id = ANY(%(ids)s)
"""


def callback_origins(user: User | AnonymousUser) -> frozenset[str]:
    return frozenset(endpoint.origin for endpoint in Endpoint.objects.usable_by(user))


def send_test(endpoint: Endpoint) -> OutboxMessage:
    """Queue a test message; it waits while the endpoint is off."""
    data: EndpointTestData = {"endpoint_id": str(endpoint.pk)}
    with transaction.atomic():
        message = OutboxMessage.objects.create(
            endpoint=endpoint, kind=TEST, scope=endpoint.scope, body=webhook_body(TEST, database_time(), data)
        )
        doorbells.ring(MESSAGES.queue)
    return message


@transaction.atomic
def switch(endpoint: Endpoint, *, on: bool, why: str) -> bool:
    """Switch an endpoint on or off, with its record; return whether that changed anything."""
    own_row = Endpoint.objects.filter(pk=endpoint.pk)
    is_changed = own_row.switch_on() if on else own_row.switch_off(OffReason.OPERATOR)
    if is_changed:
        record_change(endpoint, "changed", f"Switched {'on' if on else 'off'}{why}")
    if is_changed and on:
        doorbells.ring(MESSAGES.queue)
    return bool(is_changed)


def record_change(
    endpoint: Endpoint, verb: str, message: str = "", *, kind: ActivityKind = ActivityKind.SETTINGS
) -> None:
    """Record a change in the activity, for those who see the endpoint's site; values, which may be secret, are not."""
    Activity.objects.record(
        kind,
        verb,
        model=Endpoint._meta.label_lower,
        scope=endpoint.scope,
        object_id=str(endpoint.pk),
        object_name=str(endpoint),
        message=message,
    )


@dataclass(frozen=True)
class EndpointHealth:
    waiting: int = 0
    failed: int = 0
    delivered_at: datetime | None = None  # of the newest messages


def fetch_health(endpoints: Sequence[Endpoint]) -> None:
    values: Any = {"most": MOST_COUNTED + 1, "looked_at": LOOKED_AT, "ids": [endpoint.pk for endpoint in endpoints]}
    with connection.cursor() as cursor:
        cursor.execute(READ, values)
        health_by_id = {pk: EndpointHealth(*numbers) for pk, *numbers in cursor.fetchall()}
    for endpoint in endpoints:
        endpoint.health = health_by_id.get(endpoint.pk, EndpointHealth())  # type: ignore[attr-defined]
