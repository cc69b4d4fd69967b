"""The three statements of a job that succeeds: insert, claim and succeed; each is a transaction of its own.

The rules are the same as for every move: querysets, the states in `states.py`, and triggers. But Django compiles them
once in a process, and what belongs to them is part of them: the audit context, the job's trace, whether others wait,
and the count of its render time. Compiling, and a statement for each, took most of a worker's time besides rendering.
Checked with Django 5.2, as `kilit.lock.fast_sql` is.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import cache, cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast
from uuid import UUID, uuid4

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, transaction
from django.db.models import BooleanField, CharField, F, IntegerField, QuerySet, UUIDField
from django.db.models.expressions import DatabaseDefault, RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now
from django.db.models.sql import UpdateQuery

from kilit.lock.audit import SET_CONTEXT, context_values
from kilit.lock.fast_sql import Parameter, fast_instance, fill_in, parameter
from kilit.lock.leases import LeasedModel, LeasedQuerySet, new_lease, no_lease
from kilit.lock.models import Event
from pdfjobs.models.turns import next_in_turn, read_limits
from pdfjobs.states import PDF_JOBS

Row = TypeVar("Row", bound=LeasedModel)

# On top of its timeout a job may launch a browser (10 s) and store its file; after that its worker counts as dead.
LEASE_BEYOND_TIMEOUT = timedelta(seconds=30)
# Evaluated before the first row is written, so that triggers see it.
IS_SET = "(SELECT count(*) = 1 FROM context)"
INSERT = """
    WITH context AS MATERIALIZED ({context})
    INSERT INTO pdfjobs_pdfjob ({columns}) SELECT {values} FROM context
    ON CONFLICT DO NOTHING RETURNING created_at
"""
CLAIM = """
    WITH context AS MATERIALIZED ({context}), picked AS MATERIALIZED ({pick}),
    updated AS ({update} RETURNING {columns})
    SELECT {columns}, ({trace}), ({other}) IS NOT NULL FROM updated
"""
SUCCEED = """
    WITH context AS MATERIALIZED ({context}),
    updated AS ({update} RETURNING extract(epoch FROM finished_at - started_at)::float AS seconds),
    timed AS (
      INSERT INTO pdfjobs_rendertiming AS timing (bound, renders, seconds)
      SELECT (SELECT min(bound) FROM unnest(%s::float[]) AS bounds (bound) WHERE updated.seconds <= bound), 1, seconds
      FROM updated
      ON CONFLICT (bound) DO UPDATE SET renders = timing.renders + 1, seconds = timing.seconds + excluded.seconds
    )
    SELECT count(*) FROM updated
"""


class Claimed(NamedTuple, Generic[Row]):
    job: Row
    traceparent: str  # of the request that created it
    others_wait: bool


def not_left() -> RawSQL:
    """Return the condition that this worker has not released the job for others."""
    return RawSQL('NOT "pdfjobs_pdfjob"."id" = ANY(%s::uuid[])', (Parameter("left"),), BooleanField())


def insert_unless_taken(job: LeasedModel) -> bool:
    """Insert a new job and set the time of its creation; return False if the owner has a live job with its key."""
    using = type(job)._default_manager.db
    connection = connections[using]
    values = {field: getattr(job, field.attname) for field in job._meta.concrete_fields}
    fields = tuple(field for field, value in values.items() if not isinstance(value, DatabaseDefault))
    params = [field.get_db_prep_save(values[field], connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(_insert(using, fields), [*context_values(verb=""), *params])
        row = cursor.fetchone()
    if row:
        (job.created_at,) = row
    return row is not None


@cache
def _insert(using: str, fields: "tuple[models.Field[Any, Any], ...]") -> str:
    # Without the length of a type: a cast would cut a text that is too long, and not refuse it.
    types = [(field.db_type(connections[using]) or "").partition("(")[0] for field in fields]
    return INSERT.format(
        context=SET_CONTEXT,
        columns=", ".join(f'"{field.column}"' for field in fields),
        values=", ".join(f"%s::{name}" for name in types),
    )


class Claim(Generic[Row]):
    """Claims the job of some claimable rows whose turn it is: owners take turns (`turns`).

    `others` are all claimable rows; the result says whether one of them waits.
    """

    def __init__(self, rows: QuerySet[Row], *, others: QuerySet[Row]) -> None:
        self._rows, self._others = rows, others
        self._fields = rows.model._meta.concrete_fields
        self._names = [field.attname for field in self._fields]

    def run(self, *, served: Sequence[int] = (), left: Collection[UUID] = ()) -> Claimed[Row] | None:
        """Return the claimed job. `served` are the owners that the worker served before, the last one last."""
        try:
            sql, params = self._compiled
        except EmptyResultSet:  # Django knows without a query, as for `none()`
            return None
        values = {"token": uuid4(), "served": list(served), "left": list(left), **read_limits()._asdict()}
        connection = connections[self._rows.db]
        with connection.cursor() as cursor:
            cursor.execute(sql, [*context_values("claim"), *fill_in(params, values)])
            row = cursor.fetchone()
        if row is None:
            return None
        *columns, traceparent, others_wait = row
        for place, field in enumerate(self._fields):
            for convert in field.get_db_converters(connection):
                columns[place] = convert(columns[place], field.cached_col, connection)
        job = fast_instance(self._rows.model, self._rows.db, self._names, tuple(columns))
        return Claimed(job, traceparent or "", others_wait)

    @cached_property
    def _compiled(self) -> tuple[str, list[object]]:
        with transaction.atomic(using=self._rows.db):  # Django compiles FOR UPDATE inside a transaction only
            parts = self._compile_parts()
        sql = CLAIM.format(
            context=SET_CONTEXT,
            columns=", ".join(f'"{field.column}"' for field in self._fields),
            **{name: part for name, (part, _) in parts.items()},
        )
        return sql, [param for _, params in parts.values() for param in params]

    def _compile_parts(self) -> dict[str, tuple[str, tuple[object, ...]]]:
        model, move = self._rows.model, PDF_JOBS.moves["claim"]
        turn = next_in_turn(self._rows, served=Parameter("served"))
        due = model._default_manager.filter(pk=turn, status__in=move.sources).order_by("id")
        pick = due.select_for_update(skip_locked=True, of=("self",)).values("pk")[:1]
        lease = {**new_lease(F("timeout") + LEASE_BEYOND_TIMEOUT), "claim_token": parameter("token", UUIDField())}
        changes = {"status": move.target, "updated_at": Now(), "started_at": Now(), **lease}
        is_picked = RawSQL('"pdfjobs_pdfjob"."id" = (SELECT pk FROM picked)', (), BooleanField())
        claimed = RawSQL("updated.id", (), UUIDField())
        events = Event.objects.filter(queue=PDF_JOBS.queue, object_id=claimed).order_by("id")
        # By the order of its index; for EXISTS the planner may read the table, and dead rows at its beginning.
        other = self._others.exclude(pk=claimed).order_by("queued_at", "id").values("pk")[:1]
        return {
            "pick": _select(pick),
            "update": _update(model._default_manager.filter(is_picked), changes),
            "trace": _select(events.values_list(KeyTextTransform("traceparent", "details"))[:1]),
            "other": _select(other),
        }


class Success(Generic[Row]):
    def __init__(self, rows: LeasedQuerySet[Row], bounds: Sequence[float]) -> None:
        self._rows, self._bounds = rows, list(bounds)

    def run(self, job: Row, *, artifact_key: str, size: int, digest: str) -> bool:
        sql, params = self._compiled
        values = {
            "job": job.pk,
            "token": job.claim_token,
            "artifact_key": artifact_key,
            "size": size,
            "digest": digest,
            "bounds": self._bounds,
        }
        with connections[self._rows.db].cursor() as cursor:
            cursor.execute(sql, [*context_values("succeed"), *fill_in(params, values)])
            return bool(cursor.fetchone()[0])

    @cached_property
    def _compiled(self) -> tuple[str, list[object]]:
        move = PDF_JOBS.moves["succeed"]
        held = {"pk": parameter("job", UUIDField()), "claim_token": parameter("token", UUIDField())}
        own_row = self._rows.filter(**held, status__in=move.sources)
        changes = {
            "status": move.target,
            "updated_at": Now(),
            "finished_at": Now(),
            "artifact_key": parameter("artifact_key", CharField()),
            "artifact_size": parameter("size", IntegerField()),
            "artifact_digest": parameter("digest", CharField()),
            **no_lease(),
        }
        update, params = _update(own_row, changes)
        return SUCCEED.format(context=SET_CONTEXT, update=update), [*params, Parameter("bounds")]


def _select(rows: "QuerySet[Any, Any]") -> tuple[str, tuple[object, ...]]:
    sql, params = rows.query.get_compiler(using=rows.db).as_sql()
    return sql, tuple(params)


def _update(rows: "QuerySet[Any, Any]", changes: dict[str, object]) -> tuple[str, tuple[object, ...]]:
    rows = rows.filter(RawSQL(IS_SET, (), BooleanField()))
    query = cast("UpdateQuery", rows.query.chain(UpdateQuery))
    query.add_update_values(changes)
    sql, params = query.get_compiler(using=rows.db).as_sql()
    return sql, tuple(params)
