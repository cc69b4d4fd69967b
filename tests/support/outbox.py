"""Endpoints, messages, and a kind of webhook that reports parcels."""

import json
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import randrange
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from typing_extensions import TypedDict

from kilit.api.webhooks import Described, WebhookKind
from kilit.lock.identity import first_at
from kilit.lock.models import Event
from outbox.models import Attempt, Endpoint, OutboxMessage


class ParcelData(TypedDict):
    id: str


def describe(events: Sequence[Event]) -> dict[int, Described]:
    return {event.pk: Described({"id": event.object_id}) for event in events}


API = "/api/outbox/"

PARCEL_CARRIED = WebhookKind(
    name="parcel.carried",
    queue="parcel",
    event_types=("STATE_CARRIED",),
    about="A parcel was taken.",
    data=ParcelData,
    example={"id": "0190a5c2"},
    describe=describe,
    is_of_sites=True,
)


def make_endpoint(**columns: Any) -> Endpoint:
    return Endpoint.objects.create(**{"url": "https://shop.example/hook", "kinds": [PARCEL_CARRIED.name], **columns})


def make_message(**columns: Any) -> OutboxMessage:
    if "endpoint" not in columns:
        columns["endpoint"] = Endpoint.objects.first() or make_endpoint()
    scope = columns["endpoint"].scope if columns["endpoint"] else ""
    return OutboxMessage.objects.create(**{"kind": PARCEL_CARRIED.name, "scope": scope, "body": "{}", **columns})


def make_failed_message(*, code: str = "HTTP_5XX", **columns: Any) -> OutboxMessage:
    """Store a message whose attempts are used up."""
    error = {"error_code": code, "error_message": "It did not work.", "response_code": 500}
    return _end(make_message(**columns), "fail", **error)


def make_delivered_message(**columns: Any) -> OutboxMessage:
    return _end(make_message(**columns), "deliver", response_code=200, delivered_at=Now())


def _end(message: OutboxMessage, verb: str, **changes: Any) -> OutboxMessage:
    OutboxMessage.objects.held_by(*OutboxMessage.objects.filter(pk=message.pk).claim(limit=1)).settle(verb, **changes)
    message.refresh_from_db()
    return message


def make_attempt(message: OutboxMessage, **columns: Any) -> Attempt:
    """Store an attempt that the receiver answered with an error."""
    columns = {"number": 1, "seconds": 0.25, "url": message.shown_address, "response_code": 500, **columns}
    columns = {"request_headers": {"webhook-id": message.webhook_id}, "error_code": "HTTP_5XX", **columns}
    return Attempt.objects.create(message_id=message.pk, **columns)


def queue_messages(endpoint: Endpoint, count: int) -> list[OutboxMessage]:
    """Store messages with bodies of their own."""
    bodies = [f'{{"type":"parcel.carried","data":{{"number":{number}}}}}' for number in range(count)]
    rows = [OutboxMessage(endpoint=endpoint, kind=PARCEL_CARRIED.name, body=body) for body in bodies]
    return OutboxMessage.objects.bulk_create(rows)


def make_all_due() -> int:
    """Move the clock: what waits for its next attempt is due now."""
    return OutboxMessage.objects.waiting().update(next_try_at=Now())


def waits(*messages: OutboxMessage) -> list[timedelta]:
    """Return how long each waits from its last move to its next attempt, by the database's clock."""
    rows = OutboxMessage.objects.filter(pk__in=[message.pk for message in messages])
    return [row.next_try_at - row.updated_at for row in rows]


def make_old(*, days: float = 5, **columns: Any) -> OutboxMessage:
    """Make a message as if it had been made days ago; ids carry their time."""
    at = datetime.now(UTC) - timedelta(days=days)
    pk = UUID(int=first_at(at).int | randrange(1 << 62))
    return make_message(id=pk, created_at=at, updated_at=at, **columns)


def ask_receiver(endpoint: Endpoint, path: str = "/", **behaviour: Any) -> Any:
    """Ask the simulated receiver what it got, or say how it answers from now on."""
    data = json.dumps(behaviour).encode() if behaviour else None
    with urllib.request.urlopen(endpoint.url.rstrip("/") + path, data) as response:
        return json.load(response)
