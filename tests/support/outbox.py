"""Endpoints, messages, and a kind of webhook that reports parcels."""

from collections.abc import Sequence
from typing import Any, TypedDict

from kilit.api.webhooks import Described, WebhookKind
from kilit.lock.models import Event
from outbox.models import Endpoint, OutboxMessage


class ParcelData(TypedDict):
    id: str


def describe(events: Sequence[Event]) -> dict[int, Described]:
    return {event.pk: Described({"id": event.object_id}) for event in events}


PARCEL_CARRIED = WebhookKind(
    name="parcel.carried",
    queue="parcel",
    event_types=("STATE_CARRIED",),
    about="A parcel was taken.",
    data=ParcelData,
    example={"id": "0190a5c2"},
    describe=describe,
)


def make_endpoint(**columns: Any) -> Endpoint:
    return Endpoint.objects.create(**{"url": "https://shop.example/hook", "kinds": [PARCEL_CARRIED.name], **columns})


def make_message(**columns: Any) -> OutboxMessage:
    if "endpoint" not in columns:
        columns["endpoint"] = Endpoint.objects.first() or make_endpoint()
    return OutboxMessage.objects.create(**{"kind": PARCEL_CARRIED.name, "body": "{}", **columns})
