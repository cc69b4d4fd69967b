"""Doorbells mean "go and look". They carry no payload, they coalesce, and losing one costs only time."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django_q.tasks import async_task

from kilit.database.sql import read_row
from kilit.lock.outages import interrupted_by_outages
from kilit.workers.broker import STORE, Broker
from kilit.workers.due_rows import BoundSql, DueRows, any_exists, exists_query
from kilit.workers.models import ALIVE_FOR, Bell
from kilit.workers.notifications import LATER, announce

# A ring that no worker has handled by then was lost with its worker.
RING_AGAIN_AFTER = timedelta(seconds=10)
# A row that is due for longer, and that no worker took, is a problem.
UNTAKEN_AFTER = timedelta(minutes=10)

# Whether a bell rings, and a cluster that is alive.
LOOK = """
    SELECT EXISTS (
      SELECT FROM workers_bell WHERE name = %s AND rung_at > statement_timestamp() - make_interval(secs => %s)
    ), (
      SELECT name FROM workers_heartbeat WHERE alive_at > statement_timestamp() - make_interval(secs => %s)
      ORDER BY random() LIMIT 1
    )
"""
# Of a thousand callers, one rings the bell, and its task is stored in the same statement.
RING = """
    WITH rung AS (
      INSERT INTO workers_bell AS bell (name, rung_at) VALUES (%s, now())
      ON CONFLICT (name) DO UPDATE SET rung_at = now()
      WHERE bell.rung_at IS NULL OR bell.rung_at < now() - make_interval(secs => %s)
      RETURNING name
    ),
""" + STORE.format(rows="rung")


class RingingBroker(Broker):
    """Stores the task of a bell if the bell is not ringing already; `rang` says whether."""

    def __init__(self, cluster: str, bell: str) -> None:
        super().__init__(cluster)
        self.bell, self.rang = bell, False

    def enqueue(self, task: object) -> Any:
        task_id = self.store(RING, [self.bell, RING_AGAIN_AFTER.total_seconds()], task)
        self.rang = task_id is not None
        return task_id


@dataclass(frozen=True)
class Doorbell:
    """A queue's bell: which rows are due, and the verb that works them."""

    name: str
    due: DueRows
    handler: Callable[[], object]
    # What is due for too long: a question for each kind of row that the handler works.
    untaken: Callable[[], Mapping[type[Any], QuerySet[Any]]] = dict

    def is_due(self) -> bool:
        return any(rows.exists() for rows in self.due())


doorbells: dict[str, Doorbell] = {}


def due_for_long(rows: QuerySet[Any], column: str) -> Mapping[type[Any], QuerySet[Any]]:
    """Return what `untaken` asks of one kind of rows, by the column that says since when they are due."""
    return {rows.model: rows.filter(**{f"{column}__lt": Now() - UNTAKEN_AFTER}).order_by()}


def register_doorbells(*bells: Doorbell) -> None:
    doorbells.update({bell.name: bell for bell in bells})


def ring(name: str) -> None:
    """Ring when the transaction commits; a bell that fails does not affect what was committed."""
    # A lambda, because Django reads the __qualname__ of a failing hook, and a partial has none.
    transaction.on_commit(lambda: ring_now(name), robust=True)


def ring_now(name: str, *, at: str | None = None) -> bool:
    """Enqueue one task at a cluster, or at any that is alive, unless one is on its way.

    With no cluster alive nothing is enqueued: the next supervisor looks for due rows.
    """
    # In a flood of rows all callers but the first find the bell ringing, and stop after this SELECT. That is safe: the
    # worker clears the bell before it looks for rows, so it sees the row of a caller that saw the bell ringing.
    is_ringing, alive = read_row(LOOK, [name, RING_AGAIN_AFTER.total_seconds(), ALIVE_FOR.total_seconds()])
    cluster = at or alive
    if is_ringing or cluster is None:
        return False
    broker = RingingBroker(cluster, name)
    async_task("kilit.workers.doorbells.handle", name, cluster=cluster, broker=broker)
    return broker.rang


def ring_if_due(name: str) -> None:
    """Ring at the end of a turn for the rows that are left."""
    if doorbells[name].is_due():
        ring_now(name)


class RingPauses:
    """The pauses of a supervisor between two rings for rows that stay due: perhaps no worker may take them.

    It is as long as unannounced rows may wait anyway, and ends when no row of the bell is due.
    """

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def ready(self, due: Iterable[str]) -> list[str]:
        """Return the bells to ring now."""
        self._ends = {name: self._ends[name] for name in due if name in self._ends}
        return [name for name in due if time.monotonic() >= self._ends.get(name, 0.0)]

    def note(self, name: str) -> bool:
        """Start the pause after a ring; return whether it is the first for these rows."""
        is_first = name not in self._ends
        self._ends[name] = time.monotonic() + LATER
        return is_first


def conditions() -> dict[str, BoundSql]:
    """Return for each bell when it has to ring: a row lost its bell, or became due by time alone."""
    return {name: any_exists(bell.due) for name, bell in doorbells.items()}


def ring_due(*, at: str, due: Collection[str] | None = None) -> list[str]:
    """Ring for every queue with a due row; supervisors know already which these are."""
    names = exists_query(conditions()).run() if due is None else due
    return [name for name in doorbells if name in names and ring_now(name, at=at)]


def handle(name: str) -> None:
    """Clear the bell, then work: a row committed before is seen now, one committed after rings again."""
    with interrupted_by_outages(f"work on {name}"):
        Bell.objects.filter(name=name).update(rung_at=None)
        if doorbells[name].handler() != 0:  # a handler that counts has found nothing that it may take
            announce()
