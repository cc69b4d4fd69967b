"""Sends what happened in a time span to an endpoint again, and what it never received.

Messages that have ended are sent again under their own ids. Events without a message, because the endpoint was off or
did not exist, get one. Both are done in batches of a bounded size: who stops in between continues after the last batch.

The event log has no index on time, so the ids of a span are found by bisection. An event has the time at which its
transaction began, so times grow only nearly with ids: the search is wider by `SLACK`, and each event's time decides.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from kilit.api.webhooks import webhook_kinds
from kilit.lock.models import Event
from kilit.workers import doorbells
from outbox.log_reader import events_by_kind, message_rows, store_messages
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import last_event_id
from outbox.states import ENDED, MESSAGES, MessageStatus

BATCH = 2_000  # ids of events in one transaction
SLACK = timedelta(hours=1)  # longer than any transaction that writes events


class ReplayRefused(Exception):
    """The message says why."""


@dataclass(frozen=True)
class Span:
    start: datetime
    end: datetime

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def __str__(self) -> str:
        return f"{self.start.isoformat()} to {self.end.isoformat()}"


@dataclass
class ReplayResult:
    replayed: int = 0  # messages that had ended, sent again
    created: int = 0  # messages for events without a message
    resume_after: int | None = None  # the last event that was looked at; None once all were


@dataclass(frozen=True)
class Replay:
    endpoint: Endpoint
    span: Span
    failed_only: bool = False  # only failed messages are sent again
    dry_run: bool = False

    def run(self, *, after: int | None = None, seconds: float | None = None) -> ReplayResult:
        """Work for some seconds or until all is done; `after` continues an earlier run."""
        if not self.endpoint.is_on and not self.dry_run:
            raise ReplayRefused(_("The endpoint is off. Switch it on first."))
        end = time.monotonic() + seconds if seconds is not None else None
        position = after if after is not None else id_before(self.span.start - SLACK)
        last, result = id_before(self.span.end + SLACK), ReplayResult()
        while (first := _next_id(position)) is not None and first <= last:
            position = min(first + BATCH - 1, last)
            with transaction.atomic():
                self._replay_batch(first - 1, position, result)
                doorbells.ring(MESSAGES.queue)
            if end is not None and time.monotonic() > end:
                result.resume_after = position
                break
        return result

    def _replay_batch(self, after: int, last: int, result: ReplayResult) -> None:
        own_messages = OutboxMessage.objects.filter(endpoint=self.endpoint, event_id__gt=after, event_id__lte=last)
        rows = list(own_messages.values_list("pk", "event_id", "url", "status", "created_at"))
        events = Event.objects.filter(pk__in={event for _pk, event, *_rest in rows})
        happened: dict[int | None, datetime] = dict(events.values_list("pk", "created_at"))
        statuses = [MessageStatus.FAILED] if self.failed_only else ENDED
        # If the event was pruned, the time of its message stands for it.
        ids_to_replay = [
            pk
            for pk, event, _url, status, created_at in rows
            if status in statuses and happened.get(event, created_at) in self.span
        ]
        if not self.dry_run:
            ids_to_replay = list(OutboxMessage.objects.filter(pk__any_of=ids_to_replay, status__in=statuses).replay())
        result.replayed += len(ids_to_replay)
        if not self.failed_only:
            result.created += self._create_missing(after, last, {event for _pk, event, url, *_rest in rows if not url})

    def _create_missing(self, after: int, last: int, reported: set[int | None]) -> int:
        """Make messages about the events that the endpoint has none about; return how many."""
        kinds = [webhook_kinds[name] for name in self.endpoint.kinds if name in webhook_kinds]
        rows = []
        for kind, events in events_by_kind(kinds, after, last):
            missing = [event for event in events if event.created_at in self.span and event.pk not in reported]
            # Callbacks belong to their jobs, not to the endpoint.
            rows += [row for row in message_rows(kind, missing, [self.endpoint]) if not row["url"]]
        if not self.dry_run:
            store_messages(rows)
        return len(rows)


def id_before(moment: datetime) -> int:
    """Return an id that, but for `SLACK`, divides the events before a moment from those since."""
    low, high = 0, last_event_id() + 1
    while low < high:
        middle = (low + high) // 2
        event = Event.objects.filter(pk__gte=middle).order_by("pk").values_list("pk", "created_at").first()
        if event is None or event[1] >= moment:
            high = middle
        else:
            low = event[0] + 1
    return low - 1


def _next_id(position: int) -> int | None:
    """Return the next id that an event or a message has: where rows were pruned, there are long gaps."""
    event = Event.objects.filter(pk__gt=position).order_by("pk").values_list("pk", flat=True).first()
    reported = OutboxMessage.objects.filter(event_id__gt=position).order_by("event_id")
    message = reported.values_list("event_id", flat=True).first()
    return min((pk for pk in (event, message) if pk is not None), default=None)
