"""Retention: finished rows that are old enough are deleted in batches, with their events; a record of each batch stays.

Off unless KILIT_KEEP_FINISHED_DAYS is set. The database has the last word: a trigger allows the delete only if the row
is in a finished state, was not updated since the time that this transaction names, and is a day old
(kilit.lock.triggers).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_noop

from kilit.database.sql import read_row
from kilit.lock.audit import set_audit_context
from kilit.lock.identity import first_at
from kilit.lock.triggers import SHORTEST_RETENTION
from kilit.sentences import sentence

BATCH = 2_000
TOO_OLD = sentence("TOO_OLD", gettext_noop("finished more than %(days)s days ago"))
SWEEP_SECONDS = 60.0  # then the sweep stops, and the next one continues

Rows = QuerySet[Any]  # with a time `updated_at`
Finished = Callable[[], Iterable[Rows]]  # querysets that each follow one index in the order of ids

prunables: dict[str, Finished] = {}  # by queue; apps add theirs


def prune(*, older_than: timedelta, queues: Sequence[str] = (), seconds: float | None = None) -> dict[str, int]:
    """Delete rows that finished longer ago; return how many of each queue were deleted."""
    end = None if seconds is None else time.monotonic() + seconds
    cutoff = cutoff_of(older_than)
    deleted: dict[str, int] = {}
    for queue in queues or prunables:
        for rows in prunables[queue]():
            for number in _batches(rows, cutoff):
                deleted[queue] = deleted.get(queue, 0) + number
                if end is not None and time.monotonic() > end:
                    return deleted
    return deleted


def count(*, older_than: timedelta, queues: Sequence[str] = ()) -> dict[str, int]:
    cutoff = cutoff_of(older_than)
    return {queue: sum(_old(rows, cutoff).count() for rows in prunables[queue]()) for queue in queues or prunables}


def summary(numbers: dict[str, int], *, verb: str = "Pruned") -> str:
    parts = [f"{number:,} of {queue}" for queue, number in numbers.items() if number]
    return f"{verb} {', '.join(parts) or 'nothing'}."


def cutoff_of(older_than: timedelta) -> datetime:
    seconds = max(older_than, SHORTEST_RETENTION).total_seconds()
    cutoff: datetime = read_row("SELECT now() - make_interval(secs => %s)", [seconds])[0]
    return cutoff


def _old(rows: Rows, cutoff: datetime) -> Rows:
    # Ids grow with time, so the first condition bounds the index scan; the second decides.
    return rows.filter(pk__lt=first_at(cutoff), updated_at__lt=cutoff)


def _batches(rows: Rows, cutoff: datetime) -> Iterator[int]:
    ahead = _old(rows, cutoff)
    while True:
        with transaction.atomic():
            # A row that another transaction has locked is left to the next run.
            free = ahead.order_by("pk").select_for_update(skip_locked=True, of=("self",))
            ids = list(free.values_list("pk", flat=True)[:BATCH])
            if not ids:
                return
            yield _delete(rows.model, ids, cutoff)
        ahead = _old(rows, cutoff).filter(pk__gt=ids[-1])


def _delete(model: type[Model], ids: list[UUID], cutoff: datetime) -> int:
    set_audit_context(verb="", using="default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('kilit.prune_before', %s, true)", [cutoff.isoformat()])
        table = model._meta.db_table
        cursor.execute(f'DELETE FROM "{table}" WHERE id = ANY(%s)', [ids])
        deleted = cursor.rowcount
        # Nothing else may be deleted in this transaction.
        cursor.execute("SELECT set_config('kilit.prune_before', '', true)")
    return int(deleted)
