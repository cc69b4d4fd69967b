"""The guard: every move is one conditional UPDATE, and the row count is the answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, transaction
from django.db.models.base import ModelState
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.db.models.sql import UpdateQuery
from psycopg import adapters
from psycopg.pq import Format

import kilit.lock.among  # noqa: F401 - lets every queryset say `filter(pk__any_of=ids)`
from kilit.lock.audit import set_audit_context
from kilit.lock.identity import uuid7
from kilit.lock.table import Lifecycle, Move

Row = TypeVar("Row", bound="LifecycleModel")


class MoveRefused(Exception):  # noqa: N818 - a refusal is an answer, not an error of ours
    """A move that the table, or the claim on the row, does not allow."""

    def __init__(self, subject: "LifecycleModel", verb: str, state: str) -> None:
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

    def take(
        self, verb: str, /, *, limit: int, order: tuple[str, ...], only: tuple[str, ...] = (), **changes: Any
    ) -> list[Row]:
        """Move at most `limit` rows that nobody else is moving, first by `order`; return exactly those.

        With `only`, other columns are read when somebody asks for them.
        """
        fields = [field for field in self.model._meta.concrete_fields if not only or field.name in only]
        names = [field.attname for field in fields]
        rows = self._take(verb, fields, limit=limit, order=order, changes=changes)
        return [_instance(self.model, self.db, names, row) for row in rows]

    def take_values(
        self, verb: str, /, *columns: str, limit: int, order: tuple[str, ...], **changes: Any
    ) -> list[tuple[Any, ...]]:
        """Do the same, and return these columns alone: instances of thousands would cost most of the time."""
        fields = [self.model._meta.get_field(name) for name in columns]
        return self._take(verb, fields, limit=limit, order=order, changes=changes)

    def _take(
        self, verb: str, fields: Sequence[Any], *, limit: int, order: tuple[str, ...], changes: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        free = self.order_by(*order).select_for_update(skip_locked=True, of=("self",))
        by: list[Any] = [self.model._meta.get_field(name) for name in order]
        kept = ", ".join(dict.fromkeys(f'"{field.column}"' for field in (*fields, *by)))
        wanted = ", ".join(f'"{field.column}"' for field in fields)
        with self._witnessed(verb) as move, connections[self.db].cursor() as cursor:
            due = free.filter(status__in=move.sources)
            picked, update, params = self._pick_and_update(due, self._changes(move, changes), limit=limit)
            if picked:
                _read_times_fast(cursor)
                in_order = ", ".join(f'"{field.column}"' for field in by)
                moved = f"{picked}, moved AS ({update} RETURNING {kept})"
                cursor.execute(f"{moved} SELECT {wanted} FROM moved ORDER BY {in_order}", params)  # noqa: S608
            rows = cursor.fetchall() if picked else []
            if not rows:
                self._nothing_moved()
        return self._converted(fields, rows)

    def _converted(self, fields: Sequence[Any], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return values as fields read them from the database; most fields take what psycopg gives."""
        connection = connections[self.db]
        readers = {
            place: (field.get_db_converters(connection), field.cached_col)
            for place, field in enumerate(fields)
            if field.get_db_converters(connection)
        }
        if not readers:
            return rows
        whole = [list(row) for row in rows]
        for place, (converters, column) in readers.items():
            for row in whole:
                for converter in converters:
                    row[place] = converter(row[place], column, connection)
        return [tuple(row) for row in whole]

    def move_each(self, verb: str, /, **changes: Any) -> set[UUID]:
        """Move every row of this set that the verb applies to; return which moved.

        Rows are locked by id, so that two such statements over the same rows wait for each other and never deadlock.
        """
        ordered = self.order_by("pk").select_for_update(of=("self",))
        with self._witnessed(verb) as move, connections[self.db].cursor() as cursor:
            apt = ordered.filter(status__in=move.sources)
            picked, update, params = self._pick_and_update(apt, self._changes(move, changes))
            if not picked:
                self._nothing_moved()
                return set()
            cursor.execute(f"{picked} {update} RETURNING id", params)
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
            set_audit_context(verb="", using=self.db)
            return super().bulk_create(objs, *args, **options)

    @contextmanager
    def _witnessed(self, verb: str) -> Iterator[Move]:
        """Give the verb's move inside a transaction whose witness knows it."""
        with transaction.atomic(using=self.db, savepoint=False):
            set_audit_context(verb=verb, using=self.db)
            yield self.model.lifecycle.moves[verb]

    def _nothing_moved(self) -> None:
        """Take back the verb: Django may have asked the database nothing, so that no recorder has cleared it."""
        set_audit_context(verb="", using=self.db)

    def _pick_and_update(
        self, rows: Self, changes: dict[str, Any], *, limit: int | None = None
    ) -> tuple[str, str, tuple[Any, ...]]:
        """Return the two parts of the one statement that locks rows in their order and writes them; none for no rows.

        The pick is MATERIALIZED: otherwise the planner may run the LIMIT twice.
        """
        # By the name `pk`: for an alias of our own Django would drop the OF of FOR UPDATE and lock joined tables too.
        picked = rows.values("pk")[:limit]
        try:
            pick_sql, pick_params = picked.query.get_compiler(using=self.db).as_sql()
        except EmptyResultSet:  # Django knows without asking, as for `pk__in=[]`
            return "", "", ()
        # As an array: joined to the pick, the planner would rather read a small table from end to end.
        key = f'"{self.model._meta.db_table}"."id"'
        is_picked = RawSQL(f"{key} = ANY(ARRAY(SELECT picked.pk FROM picked))", (), models.BooleanField())  # noqa: S608, S611
        chosen = self.model._base_manager.filter(is_picked)
        update = cast("UpdateQuery", chosen.query.chain(UpdateQuery))
        update.add_update_values(changes)
        update_sql, update_params = update.get_compiler(using=self.db).as_sql()
        return f"WITH picked AS MATERIALIZED ({pick_sql})", update_sql, (*pick_params, *update_params)

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
                set_audit_context(verb="", using=options.get("using") or self._meta.default_manager.db)  # type: ignore[union-attr]
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


def _instance(model: type[Row], using: str, names: Sequence[str], values: Sequence[Any]) -> Row:
    """Return a row as `from_db` does, in a tenth of its time: a queue's models do nothing when one is made."""
    row, state = model.__new__(model), ModelState()
    state.adding, state.db = False, using
    row.__dict__.update(zip(names, values, strict=True), _state=state)
    return row


def _read_times_fast(cursor: Any) -> None:
    """Read times by psycopg's own loader: Django's, in Python, takes longer than all the rest of a row."""
    loader = adapters.get_loader(adapters.types["timestamptz"].oid, Format.TEXT)
    cursor.cursor.adapters.register_loader("timestamptz", loader)


def refuse_state(fields: Any) -> None:
    """Raise when a state is about to be written other than by a verb."""
    if "status" in fields:
        raise TypeError("the state is moved by a verb of the table, never written")
