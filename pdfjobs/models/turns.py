"""Whose job is claimed next: owners take turns, so that one with a thousand jobs does not delay another's invoice.

First comes the owner with the fewest running jobs, then the one that this worker has served least recently, then the
one whose job has waited longest. An owner's own jobs are claimed by waiting time and priority. The order among owners
is a preference. Two limits are guards, and with them claims wait for each other: how many jobs of an owner run, and how
many run in all when an owner gets a second one, so that a worker is free for an owner who has none running.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import BooleanField, F, QuerySet, UUIDField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from kilit.lock.compiled_moves import CompiledMove, compile_take
from kilit.lock.fast_sql import Parameter, fast_instance, parameter
from kilit.lock.leases import LeasedModel, new_lease
from kilit.lock.priorities import TurnTime
from kilit.workers.models import ALIVE_FOR

Row = TypeVar("Row", bound=LeasedModel)

# On top of its timeout a job may launch a browser (10 s) and store its file; after that its worker counts as dead.
LEASE_BEYOND_TIMEOUT = timedelta(seconds=30)
# An owner's jobs; the index pdf_turn_of_owner serves it.
TURN = TurnTime("queued_at", "priority")
ORDER = (TURN, "id")

NO_LIMIT = 2**31 - 1
# How many jobs may run when an owner gets a second one: as many as all machines have workers, without the free ones.
# Nothing is kept free where all jobs have one owner; the index pdf_of_owner says so.
MOST_RUNNING = """
    SELECT CASE WHEN workers > 1 AND free > 0 AND several THEN workers - free ELSE 2147483647 END AS jobs
    FROM (SELECT coalesce(sum(workers), %s) AS workers FROM workers_heartbeat WHERE alive_at > now() - %s) AS alive,
      (SELECT %s::integer AS free) AS setting,
      (SELECT min(owner_id) <> max(owner_id) AS several FROM pdfjobs_pdfjob) AS owners
"""

# The index pdf_turn_of_owner gives the next owner and that owner's first job: a few pages for each owner, however many
# jobs wait. The lateral part locks a job: the first of the first owner that has one free.
# Two claims at once would both count the running jobs before either is one. So with a limit `pdf_running_jobs` takes a
# lock before it counts; the migration says why that must be in a function.
NEXT = """(
    SELECT job.pk FROM (
      WITH RECURSIVE waiting AS (
        ({first} ORDER BY owner_id, turn, id LIMIT 1)
        UNION ALL
        SELECT later.* FROM waiting, LATERAL (
          {first} AND owner_id > waiting.owner_id ORDER BY owner_id, turn, id LIMIT 1
        ) AS later
      ),
      running AS MATERIALIZED (SELECT * FROM pdf_running_jobs(in_turn => %s)),
      allowed AS MATERIALIZED ({most_running})
      SELECT owner_id FROM waiting LEFT JOIN running USING (owner_id)
      WHERE coalesce(jobs, 0) < %s
        AND (jobs IS NULL OR (SELECT sum(jobs) FROM running) < (SELECT jobs FROM allowed))
      ORDER BY coalesce(jobs, 0), array_position(%s::bigint[], owner_id) NULLS FIRST, turn
    ) AS owner, LATERAL ({job}) AS job LIMIT 1
)"""
FIRST = """
    SELECT owner_id, timezone('UTC', queued_at) - make_interval(hours => priority) AS turn, id
    FROM pdfjobs_pdfjob WHERE status = 'queued' AND queued_at <= statement_timestamp()
"""


class Limits(NamedTuple):
    """What the settings allow, as parameters of the claim."""

    in_turn: bool
    workers: int  # if no supervisor gives a sign of life
    alive_for: timedelta
    free_workers: int
    jobs_per_owner: int


LIMITS = tuple(Parameter(name) for name in Limits._fields)


def read_limits() -> Limits:
    per_owner, free = settings.PDF_JOBS_PER_OWNER, settings.PDF_FREE_WORKERS
    return Limits(bool(per_owner or free), settings.WORKERS, ALIVE_FOR, free, per_owner or NO_LIMIT)


def most_running() -> int:
    """Return how many jobs may run when an owner gets a second one."""
    with connection.cursor() as cursor:
        limits: Any = read_limits()
        cursor.execute(MOST_RUNNING, [limits.workers, limits.alive_for, limits.free_workers])
        return int(cursor.fetchone()[0])


def next_in_turn(rows: QuerySet[Any], *, served: Any) -> RawSQL:
    """Return the id of the job of these rows that is claimed next, as an expression.

    `served` are owners, the one served last at the end.
    """
    of_owner = rows.filter(owner_id=RawSQL("owner.owner_id", ()))
    free = of_owner.order_by(*ORDER).select_for_update(skip_locked=True, of=("self",)).values("pk")[:1]
    job, params = free.query.get_compiler(using=rows.db).as_sql()
    sql = NEXT.format(first=FIRST, most_running=MOST_RUNNING, job=job)
    return RawSQL(sql, (*LIMITS, served, *params), UUIDField())


class TurnClaim(Generic[Row]):
    """Claims the job of some claimable rows whose turn it is; compiled once, at its first run."""

    def __init__(self, rows: QuerySet[Row]) -> None:
        self._rows = rows

    def run(self, *, served: Sequence[int] = (), left: Collection[UUID] = ()) -> Row | None:
        """Return the claimed job. `served` are the owners that the worker served before, the last one last."""
        values = {"served": list(served), "left": list(left), **read_limits()._asdict()}
        rows, model = self._move.run(token=uuid4(), **values), self._rows.model
        names = [field.attname for field in model._meta.concrete_fields]
        return fast_instance(model, self._rows.db, names, rows[0]) if rows else None

    @cached_property
    def _move(self) -> CompiledMove:
        with transaction.atomic(using=self._rows.db):  # Django compiles FOR UPDATE inside a transaction only
            turn = next_in_turn(self._rows, served=Parameter("served"))
        due = self._rows.model._default_manager.filter(pk=turn)
        lease = {**new_lease(F("timeout") + LEASE_BEYOND_TIMEOUT), "claim_token": parameter("token", UUIDField())}
        names = (field.name for field in self._rows.model._meta.concrete_fields)
        return compile_take(due, "claim", *names, limit=1, order=("id",), started_at=Now(), **lease)


def not_left() -> RawSQL:
    """Return the condition that this worker has not released the job for others."""
    return RawSQL('NOT "pdfjobs_pdfjob"."id" = ANY(%s::uuid[])', (Parameter("left"),), BooleanField())
