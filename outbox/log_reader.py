"""Reads the event log and makes the messages that report it: exactly one for each event and endpoint.

Messages are made from events, not by the statements that move jobs, so without endpoints those cost nothing more, and a
move that was rolled back has no message. The position in the log is stored by the transaction that stores the messages:
a reader that is killed resumes where it stopped. The lock on the position's row admits one reader at a time.

An event is read once it is settled (kilit.lock.log). A transaction that stays open delays messages, and loses none.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, Q, QuerySet, Subquery
from pydantic_core import to_json

from kilit.api.webhooks import Callback, WebhookKind, webhook_kinds
from kilit.lock.audit import acting_as
from kilit.lock.fast_sql import bulk_insert
from kilit.lock.identity import uuid7s
from kilit.lock.log import LOOK_AGAIN_AFTER, writers
from kilit.lock.models import Event
from kilit.outgoing.urls import parse_url
from kilit.workers import doorbells
from kilit.workers.turns import work_in_turns
from outbox.models import Endpoint, LogPosition, OutboxMessage
from outbox.models.endpoint import last_event_id
from outbox.models.position import WEBHOOKS
from outbox.states import MESSAGES

logger = logging.getLogger(__name__)

BELL = "outbox_log"
ACTOR = "worker:outbox"
SPAN = 5_000  # ids in one transaction


def due_rows() -> "list[QuerySet[Endpoint]]":
    """Return endpoints that may want events, if there are any to read."""
    newest = Event.objects.order_by("-id").values("id")[:1]
    behind = LogPosition.objects.filter(name=WEBHOOKS, event_id__lt=Subquery(newest))
    return [Endpoint.objects.on().filter(Exists(behind))]


def read_log() -> int:
    """Make messages from all settled events, for a few seconds; return how many were made."""
    with acting_as(ACTOR):
        return work_in_turns(BELL, _read_span)


def _read_span() -> int | None:
    """Read the next events in one transaction; return how many messages were made, or None if nothing can be read."""
    with transaction.atomic():
        position = LogPosition.objects.select_for_update(skip_locked=True).filter(name=WEBHOOKS).first()
        if position is None:  # another reader is at work, or no endpoint was ever on
            return None
        if not _settle(position):
            return None
        first, last = position.event_id, min(position.horizon, position.event_id + SPAN)
        made = _make_messages(first, last)
        LogPosition.objects.filter(pk=position.pk).update(event_id=last)
        if made:
            doorbells.ring(MESSAGES.queue)
        return made


def _settle(position: LogPosition) -> bool:
    """Make sure that there are settled events to read: no open transaction wrote an event up to `horizon`."""
    if position.event_id >= position.horizon:
        newest = last_event_id()
        if newest <= position.event_id:
            return False
        position.horizon, position.writers = newest, writers()
    if position.writers:
        time.sleep(LOOK_AGAIN_AFTER)
        position.writers = sorted({*position.writers} & {*writers()})
    position.save(update_fields=["horizon", "writers"])
    return not position.writers


def _make_messages(first: int, last: int) -> int:
    endpoints = list(Endpoint.objects.on())
    kind_names = {name for endpoint in endpoints for name in endpoint.kinds}
    kinds = [kind for kind in webhook_kinds.values() if kind.name in kind_names or kind.has_callbacks]
    if not endpoints:
        return 0
    rows: list[dict[str, Any]] = []
    for kind, events in events_by_kind(kinds, first, last):
        rows += message_rows(kind, events, endpoints)
    store_messages(rows)
    return len(rows)


def events_by_kind(kinds: Sequence[WebhookKind], first: int, last: int) -> Iterator[tuple[WebhookKind, list[Event]]]:
    matches = Q()
    for kind in kinds:
        matches |= Q(queue=kind.queue, event_type__in=kind.event_types)
    if not kinds:
        return
    events = list(Event.objects.filter(matches, id__gt=first, id__lte=last).order_by("id"))
    for kind in kinds:
        if reported := [
            event for event in events if event.queue == kind.queue and event.event_type in kind.event_types
        ]:
            yield kind, reported


def message_rows(
    kind: WebhookKind, events: Sequence[Event], endpoints: Sequence[Endpoint]
) -> Iterator[dict[str, object]]:
    descriptions, endpoints_of = kind.describe(events), cache(usable_endpoints)
    for event in events:
        described = descriptions.get(event.pk)
        if described is None:
            continue
        body = webhook_body(kind.name, event.created_at, described.data)
        message = {"kind": kind.name, "event_id": event.pk, "object_id": event.object_id, "body": body}
        urls = set()
        for endpoint in endpoints:
            hears = kind.name in endpoint.kinds and endpoint.scope in ("", described.scope)
            if hears and not described.for_callbacks_only:
                urls.add(endpoint.url)
                yield {**message, "endpoint_id": endpoint.pk, "scope": endpoint.scope, "url": ""}
        for callback in described.callbacks:
            owned = callback_endpoint(callback, endpoints_of(callback.user_id))
            if owned is None:
                logger.warning("no endpoint for a callback to %s", parse_url(callback.url).origin)
            elif callback.url not in urls:
                urls.add(callback.url)
                yield {**message, "endpoint_id": owned.pk, "scope": owned.scope, "url": callback.url}


def store_messages(rows: list[dict[str, object]]) -> None:
    """Store messages; one that exists already is left as it is."""
    for row, pk in zip(rows, uuid7s(len(rows)), strict=True):
        row["id"] = pk
    bulk_insert(OutboxMessage, rows)


def webhook_body(kind: str, at: object, data: object) -> str:
    """Return the text that is signed and sent, in the form that Standard Webhooks recommends."""
    return to_json({"type": kind, "timestamp": at, "data": data}).decode()


def callback_endpoint(callback: Callback, usable: Iterable[Endpoint]) -> Endpoint | None:
    """Return the caller's endpoint whose secret signs a callback: one with its address, else with its host and port.

    None if it was removed or switched off.
    """
    url, origin = callback.url, parse_url(callback.url).origin
    same_origin = [endpoint for endpoint in usable if endpoint.origin == origin]
    path = url.partition("?")[0]
    return min(same_origin, key=lambda row: (row.url != url, row.url.partition("?")[0] != path), default=None)


def usable_endpoints(user_id: int) -> list[Endpoint]:
    """Return a caller's endpoints: those of its own sites before those of the installation."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return list(Endpoint.objects.usable_by(user).order_by("-scope", "created_at")) if user else []
