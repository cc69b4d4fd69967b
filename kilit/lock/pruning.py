"""Retention: finished rows that are old enough go, batch by batch, with their events; a record of each batch stays.

Off unless KILIT_KEEP_FINISHED_DAYS is set. The database holds the door: a row goes only when it is in a finished state,
has not been touched since the time that this transaction names, and is a day old (kilit.lock.triggers).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from kilit.lock.audit import set_audit_context
from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.identity import first_at

BATCH = 2_000
LEAST = timedelta(days=1)  # the triggers keep what is younger, whatever is asked
TIME_FOR_ALL = 60.0  # seconds of a sweep; the rest is for the next

Rows = LifecycleQuerySet[Any]


@dataclass(frozen=True)
class Prunable:
    """A queue with finished rows; each set of them comes in the order of ids along one index."""

    queue: str
    finished: Callable[[], Iterable[Rows]]


prunables: dict[str, Prunable] = {}


def register(model: type[LifecycleModel], *, finished: Callable[[], Iterable[Rows]]) -> None:
    """Let finished rows of a queue be pruned; called from an app's `ready()`."""
    queue = model.lifecycle.queue
    prunables[queue] = Prunable(queue, finished)


def prune(*, older_than: timedelta, queues: Iterable[str] = (), seconds: float | None = None) -> dict[str, int]:
    """Delete what was finished longer ago; return how many rows of each queue went."""
    end = None if seconds is None else time.monotonic() + seconds
    cutoff = cutoff_of(older_than)
    gone: dict[str, int] = {}
    for prunable in _asked(queues):
        for rows in prunable.finished():
            for number in _batches(rows, cutoff):
                gone[prunable.queue] = gone.get(prunable.queue, 0) + number
                if end is not None and time.monotonic() > end:
                    return gone
    return gone


def count(*, older_than: timedelta, queues: Iterable[str] = ()) -> dict[str, int]:
    cutoff = cutoff_of(older_than)
    return {
        prunable.queue: sum(_old(rows, cutoff).count() for rows in prunable.finished()) for prunable in _asked(queues)
    }


def sentence(gone: dict[str, int], *, verb: str = "Pruned") -> str:
    told = [f"{number:,} of {queue}" for queue, number in gone.items() if number]
    return f"{verb} {', '.join(told) or 'nothing'}."


def cutoff_of(older_than: timedelta) -> datetime:
    """Return the time before which rows go, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() - make_interval(secs => %s)", [max(older_than, LEAST).total_seconds()])
        cutoff: datetime = cursor.fetchone()[0]
    return cutoff


def _asked(queues: Iterable[str]) -> list[Prunable]:
    return [prunables[queue] for queue in queues] or list(prunables.values())


def _old(rows: Rows, cutoff: datetime) -> Rows:
    # Ids grow with time, so this bound is where an index over ids ends; the second condition is the true one.
    return rows.filter(pk__lt=first_at(cutoff), updated_at__lt=cutoff)


def _batches(rows: Rows, cutoff: datetime) -> Iterator[int]:
    """Delete batch by batch, each in a transaction of its own, and tell how many went."""
    last: UUID | None = None
    while True:
        ahead = _old(rows, cutoff) if last is None else _old(rows, cutoff).filter(pk__gt=last)
        with transaction.atomic():
            # What somebody holds at this moment is not finished business; the next run finds it.
            free = ahead.order_by("pk").select_for_update(skip_locked=True, of=("self",))
            ids = list(free.values_list("pk", flat=True)[:BATCH])
            if not ids:
                return
            yield _delete(rows.model, ids, cutoff)
        last = ids[-1]


def _delete(model: type[LifecycleModel], ids: list[UUID], cutoff: datetime) -> int:
    set_audit_context(verb="", using="default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('kilit.prune_before', %s, true)", [cutoff.isoformat()])
        table = model._meta.db_table
        cursor.execute(f'DELETE FROM "{table}" WHERE id = ANY(%s)', [ids])  # noqa: S608 - the model's own name
        gone = cursor.rowcount
        # For the rest of this transaction the door is shut again.
        cursor.execute("SELECT set_config('kilit.prune_before', '', true)")
    return int(gone)
