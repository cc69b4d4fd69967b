"""The guard: every move is one conditional UPDATE, and the number of rows it changed is the answer.

    Job.objects.filter(…).move("cancel")        all rows of the set that may be cancelled -> how many were
    Job.objects.filter(…).move_each("cancel")   the same -> which were
    Job.objects.due().take("claim", limit=10)   up to ten rows that no one else is claiming -> those rows
    job.move("finish", where={…})               this row, or MoveRefused with the state it is really in

Which states a verb may start from is listed in the queue's `states.py` (kilit.lock.table). Triggers hold the same table
for every other way to the rows (kilit.lock.triggers).
"""

from functools import partial
from typing import Any, ClassVar, Self, TypeVar, cast
from uuid import UUID

from django.db import models, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import set_audit_context
from kilit.lock.compiled_moves import CompiledMove, columns_of, compile_take, record_as, refuse_state
from kilit.lock.fast_sql import fast_instances
from kilit.lock.identity import uuid7
from kilit.lock.table import Lifecycle

Row = TypeVar("Row", bound="LifecycleModel")


class MoveRefused(Exception):
    """The table, or another worker's claim on the row, does not allow the move."""

    def __init__(self, subject: "LifecycleModel", verb: str, state: str) -> None:
        self.subject, self.verb, self.state = subject, verb, state
        held = state in subject.lifecycle.moves[verb].sources
        super().__init__(f"{subject} cannot {verb}: it is {state}" + (", under another claim" if held else ""))


class LifecycleQuerySet(models.QuerySet[Row]):
    """Rows that change their state only by the verbs of their table."""

    def move(self, verb: str, /, **changes: object) -> int:
        """Move every row of this set that the verb applies to; return how many moved."""
        move = self.model.lifecycle.moves[verb]
        rows = self.filter(status__in=move.sources)
        update = partial(super(LifecycleQuerySet, rows).update, **columns_of(move, changes))
        return record_as(verb, update, using=self.db)

    def move_each(self, verb: str, /, **changes: object) -> set[UUID]:
        """Move every row of this set that the verb applies to; return the ids of those that moved.

        Rows are locked in the order of their ids, so two such statements over the same rows wait for each other and
        never deadlock.
        """
        rows = self.order_by("pk").select_for_update(of=("self",))
        return {pk for (pk,) in CompiledMove(rows, verb, changes, returning=[self.model._meta.pk]).run()}

    def take(
        self, verb: str, /, *, limit: int, order: tuple[Any, ...], only: tuple[str, ...] = (), **changes: Any
    ) -> list[Row]:
        """Move at most `limit` rows, first by `order`, and return exactly those: this is how rows are claimed.

        Rows that another transaction has locked are skipped, so claimers neither wait for each other nor get the same
        row. They are returned in the order of the columns that `order` names. With `only`, the other columns are
        deferred.
        """
        fields = [field for field in self.model._meta.concrete_fields if not only or field.name in only]
        names = [field.attname for field in fields]
        claim = compile_take(self, verb, *(field.name for field in fields), limit=limit, order=order, **changes)
        return fast_instances(self.model, self.db, names, claim.run())

    def lock_in_order(self) -> None:
        """Lock these rows in the order of their ids, for a transaction that moves them by more than one statement."""
        list(self.order_by("pk").select_for_update(of=("self",)).values_list("pk"))

    def update(self, **changes: object) -> int:
        refuse_state(changes)
        return super().update(**changes)

    def bulk_update(self, objs: Any, fields: Any, batch_size: int | None = None) -> int:
        refuse_state(fields)
        return super().bulk_update(objs, fields, batch_size)

    def bulk_create(self, objs: Any, *args: Any, **options: Any) -> list[Row]:
        with transaction.atomic(using=self.db, savepoint=False):
            set_audit_context(verb="", using=self.db)
            return super().bulk_create(objs, *args, **options)


class LifecycleModel(models.Model):
    """A row that is a job: subclasses add a `lifecycle`, a `status` field, a queryset and triggers."""

    lifecycle: ClassVar[Lifecycle]
    status: Any

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    updated_at = models.DateTimeField(_("updated at"), db_default=Now(), editable=False)

    class Meta:
        abstract = True
        # Rows are created through an API and moved by verbs; no one adds, edits or deletes one by hand.
        default_permissions = ("view", "operate")

    def __str__(self) -> str:
        return f"{self.lifecycle.queue} {self.pk}"

    def save(self, *args: Any, **options: Any) -> None:
        """Insert a new row, or update only the columns named: others may have changed since this instance was read."""
        if self._state.adding:
            using = options.get("using") or type(self)._default_manager.db
            with transaction.atomic(using=using, savepoint=False):
                set_audit_context(verb="", using=using)
                super().save(*args, **options)
            return
        if options.get("update_fields") is None:
            raise TypeError("name the columns to save: save(update_fields=[…])")
        refuse_state(options["update_fields"])
        super().save(*args, **options)

    def move(self, verb: str, /, *, where: dict[str, Any] | None = None, **changes: object) -> Self:
        """Move this row if it also matches `where` (a claim, say); else raise MoveRefused with its real state."""
        rows = cast("LifecycleQuerySet[Any]", type(self)._default_manager.filter(pk=self.pk))
        moved = rows.filter(**(where or {})).move(verb, **changes)
        self.refresh_from_db()
        if not moved:
            raise MoveRefused(self, verb, str(self.status))
        return self
