"""The guard: every move is one conditional UPDATE, and the row count is the answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, transaction
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.db.models.sql import UpdateQuery

from lifecycle.actor import tell_witness
from lifecycle.identity import uuid7
from lifecycle.table import Lifecycle, Move

Row = TypeVar("Row", bound="LifecycleModel")


class MoveRefused(Exception):  # noqa: N818 - a refusal is an answer, not an error of ours
    """A move that the table, or the claim on the row, does not allow."""

    def __init__(self, subject: "LifecycleModel", verb: str, state: str) -> None:
        """Keep the facts, so that the API can answer with them."""
        self.subject, self.verb, self.state = subject, verb, state
        held = state in subject.lifecycle.moves[verb].sources
        super().__init__(f"{subject} cannot {verb}: it is {state}" + (", under another claim" if held else ""))


class LifecycleQuerySet(models.QuerySet[Row]):
    """Rows that move only by the verbs of their table."""

    def move(self, verb: str, /, **changes: Any) -> int:
        """Move every row of this set that the verb applies to; return how many moved."""
        with self._witnessed(verb) as move:
            rows = self.filter(status__in=move.sources)
            moved = super(LifecycleQuerySet, rows).update(**self._changes(move, changes))
            if not moved:
                self._nothing_moved()
            return moved

    def take(self, verb: str, /, *, limit: int, order: tuple[str, ...], **changes: Any) -> list[Row]:
        """Move at most `limit` rows that nobody else is moving, first by `order`; return exactly those."""
        free = self.order_by(*order).select_for_update(skip_locked=True, of=("self",))
        with self._witnessed(verb) as move:
            sql, params = self._pick_and_update(free, move, changes, limit=limit)
            rows = list(self.model._base_manager.using(self.db).raw(f"{sql} RETURNING *", params)) if sql else []
            if not rows:
                self._nothing_moved()
        return sorted(rows, key=lambda row: [getattr(row, name) for name in order])

    def move_each(self, verb: str, /, **changes: Any) -> set[UUID]:
        """Move every row of this set that the verb applies to; return which moved.

        Rows are locked by id, so that two such statements over the same rows wait for each other and never deadlock.
        """
        ordered = self.order_by("pk").select_for_update(of=("self",))
        with self._witnessed(verb) as move, connections[self.db].cursor() as cursor:
            sql, params = self._pick_and_update(ordered, move, changes)
            if not sql:
                self._nothing_moved()
                return set()
            cursor.execute(f"{sql} RETURNING id", params)
            return {row[0] for row in cursor.fetchall()}

    def lock_in_order(self) -> None:
        """Lock these rows by id, for a transaction that moves them by more than one statement."""
        list(self.order_by("pk").select_for_update(of=("self",)).values_list("pk"))

    def update(self, **changes: Any) -> int:
        """Refuse to write the state: that is what verbs are for."""
        refuse_state(changes)
        return super().update(**changes)

    def bulk_update(self, objs: Any, fields: Any, batch_size: int | None = None) -> int:
        """Refuse to write the state: that is what verbs are for."""
        refuse_state(fields)
        return super().bulk_update(objs, fields, batch_size)

    def bulk_create(self, objs: Any, *args: Any, **options: Any) -> list[Row]:
        """Insert rows, telling the witness who did."""
        with transaction.atomic(using=self.db, savepoint=False):
            tell_witness(verb="", using=self.db)
            return super().bulk_create(objs, *args, **options)

    @contextmanager
    def _witnessed(self, verb: str) -> Iterator[Move]:
        """Give the verb's move inside a transaction whose witness knows it."""
        with transaction.atomic(using=self.db, savepoint=False):
            tell_witness(verb=verb, using=self.db)
            yield self.model.lifecycle.moves[verb]

    def _nothing_moved(self) -> None:
        """Take back the verb: Django may have asked the database nothing, so that no recorder has cleared it."""
        tell_witness(verb="", using=self.db)

    def _pick_and_update(
        self, rows: Self, move: Move, changes: dict[str, Any], *, limit: int | None = None
    ) -> tuple[str, tuple[Any, ...]]:
        """Return the one statement that locks rows in their order and moves them, or none for no rows.

        The pick is MATERIALIZED: otherwise the planner may run the LIMIT twice.
        """
        # By the name `pk`: for an alias of our own Django would drop the OF of FOR UPDATE and lock joined tables too.
        picked = rows.filter(status__in=move.sources).values("pk")[:limit]
        try:
            pick_sql, pick_params = picked.query.get_compiler(using=self.db).as_sql()
        except EmptyResultSet:  # Django knows without asking, as for `pk__in=[]`
            return "", ()
        chosen = self.model._base_manager.filter(pk__in=RawSQL("SELECT picked.pk FROM picked", ()))
        update = cast("UpdateQuery", chosen.query.chain(UpdateQuery))
        update.add_update_values(self._changes(move, changes))
        update_sql, update_params = update.get_compiler(using=self.db).as_sql()
        return f"WITH picked AS MATERIALIZED ({pick_sql}) {update_sql}", (*pick_params, *update_params)

    @staticmethod
    def _changes(move: Move, changes: dict[str, Any]) -> dict[str, Any]:
        refuse_state(changes)
        return {"status": move.target, "updated_at": Now(), **changes}


class LifecycleModel(models.Model):
    """A row that is a job: subclasses give it a `lifecycle`, a `status` field, a queryset and triggers."""

    lifecycle: ClassVar[Lifecycle]
    status: Any

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True
        # Rows are born through an API and moved by verbs: nobody adds, edits or deletes one by hand.
        default_permissions = ("view", "operate")

    def __str__(self) -> str:
        return f"{self.lifecycle.queue} {self.pk}"

    def save(self, *args: Any, **options: Any) -> None:
        """Insert a row, or save the columns named: an instance read a while ago must not bring back what it read."""
        if self._state.adding:
            with transaction.atomic(using=options.get("using"), savepoint=False):
                tell_witness(verb="", using=options.get("using") or self._meta.default_manager.db)  # type: ignore[union-attr]
                super().save(*args, **options)
            return
        if options.get("update_fields") is None:
            raise TypeError("name the columns to save: save(update_fields=[…])")
        refuse_state(options["update_fields"])
        super().save(*args, **options)

    def move(self, verb: str, /, *, where: dict[str, Any] | None = None, **changes: Any) -> Self:
        """Move this row, matching also `where` (a claim, say); raise MoveRefused with the state it is really in."""
        rows = cast("LifecycleQuerySet[Any]", type(self)._default_manager.filter(pk=self.pk))
        moved = rows.filter(**(where or {})).move(verb, **changes)
        self.refresh_from_db()
        if not moved:
            raise MoveRefused(self, verb, str(self.status))
        return self


def refuse_state(fields: Any) -> None:
    """Raise when a state is about to be written other than by a verb."""
    if "status" in fields:
        raise TypeError("the state is moved by a verb of the table, never written")
