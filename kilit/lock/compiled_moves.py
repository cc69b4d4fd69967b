"""What the guard runs: statements that lock rows and move them, which may be compiled once and run with other values.

    claim = compile_take(rows, "claim", "id", "action", limit=1000, order=("created_at", "id"))
    claim.run(site=…)                      up to that many rows -> these columns of each
    CompiledMoveOfIds(rows, "ack").run(ids, batch=…)

kilit.lock.fast_sql says why, and what their parameters are.
"""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from kilit.lock.audit import set_audit_context
from kilit.lock.fast_sql import NO_LOADERS, Loaders, Parameter, PickAndUpdate, uuid_array
from kilit.lock.table import Move

Ids = TypeVar("Ids", bound=Collection[UUID])
Moved = TypeVar("Moved")


class CompiledMove:
    """A move of picked rows by one statement, compiled once; its rows may have parameters (kilit.lock.fast_sql)."""

    def __init__(self, rows: QuerySet[Any], verb: str, changes: dict[str, Any], **options: Any) -> None:
        self._rows, self._verb, self._changes, self._options = rows, verb, changes, options
        self._using = rows.db

    @cached_property
    def _statement(self) -> PickAndUpdate:
        """Compile it at the first run: Django compiles FOR UPDATE inside a transaction only."""
        move = self._rows.model.lifecycle.moves[self._verb]
        able = self._rows.filter(status__in=move.sources)
        with transaction.atomic(using=self._using, savepoint=False):
            return PickAndUpdate(able, columns_of(move, self._changes), verb=self._verb, **self._options)

    def run(self, **values: object) -> list[tuple[Any, ...]]:
        with transaction.mark_for_rollback_on_error(using=self._using):
            return self._statement.run(**values)


class CompiledMoveOfIds:
    """A move of those of some rows that have given ids; it returns the ids of those that moved.

    Usually every row moves. Then no ids are read back, which saves milliseconds for thousands of rows. Rows are locked
    in the order of their ids.
    """

    def __init__(self, rows: QuerySet[Any], verb: str, **changes: object) -> None:
        of_ids = rows.filter(pk__any_of=Parameter("ids")).order_by("pk").select_for_update(of=("self",))
        self._move = CompiledMove(of_ids, verb, changes, expected=Parameter("expected"))

    def run(self, ids: Ids, **values: object) -> Ids | set[UUID]:
        rows = self._move.run(ids=uuid_array(ids), expected=len(ids), **values)
        count, moved = rows[0] if rows else (0, None)
        return ids if count == len(ids) else set(moved or ())


def compile_take(
    rows: QuerySet[Any],
    verb: str,
    /,
    *columns: str,
    limit: int,
    order: tuple[Any, ...],
    loaders: Loaders = NO_LOADERS,
    **changes: object,
) -> CompiledMove:
    """Compile a move of at most `limit` rows, first by `order`, skipping rows that others have locked."""
    free = rows.order_by(*order).select_for_update(skip_locked=True, of=("self",))
    fields = [rows.model._meta.get_field(name) for name in columns]
    by = [rows.model._meta.get_field(name) for name in order if isinstance(name, str)]
    return CompiledMove(free, verb, changes, returning=fields, order=by, limit=limit, loaders=loaders)


def record_as(verb: str, statement: Callable[[], Moved], *, using: str) -> Moved:
    """Run a statement that moves rows in a transaction in which it is recorded under this verb."""
    with transaction.atomic(using=using, savepoint=False):
        set_audit_context(verb=verb, using=using)
        moved = statement()
        if not moved:
            # Django may have sent no statement at all, and then no recorder has cleared the verb.
            set_audit_context(verb="", using=using)
        return moved


def refuse_state(columns: Any) -> None:
    if "status" in columns:
        raise TypeError("the state is moved by a verb of the table, never written")


def columns_of(move: Move, changes: dict[str, object]) -> dict[str, Any]:
    refuse_state(changes)
    return {"status": move.target, "updated_at": Now(), **changes}
