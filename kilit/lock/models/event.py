"""Events, one row for every move of every job, and records of pruning: written by triggers and never changed."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Self
from uuid import UUID

import pgtrigger
from django.db import models, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import current_context
from kilit.lock.column_guards import refuse_rows
from kilit.lock.guard import LifecycleModel
from kilit.lock.text import storable
from kilit.lock.triggers import never, only_erased

LONGEST_HISTORY = 500
HINT = "They are the audit trail."
# Moves are written by triggers alone. Besides, `record` writes what is no move, with the state that the row is in, now.
# For a move the condition ends at the depth, so the recorder calls no function.
FORGED = """
    pg_trigger_depth() = 0 AND (
      NEW.from_state <> NEW.to_state OR NEW.to_state = ''
      OR NEW.event_type = 'JOB_CREATED' OR starts_with(NEW.event_type, 'STATE_')
      OR NEW.created_at NOT BETWEEN now() AND clock_timestamp())
"""


class EventQuerySet(models.QuerySet["Event"]):
    def of(self, row: LifecycleModel) -> Self:
        """Return a job's timeline, oldest first; its ids grow with time because its moves wait for each other."""
        return self.filter(queue=row.lifecycle.queue, object_id=row.pk).order_by("id")

    def history(self, row: LifecycleModel) -> list["Event"]:
        """Return a job's timeline; of very many events only the first and the newest."""
        events = self.of(row)
        newest = list(events.reverse()[:LONGEST_HISTORY])[::-1]
        first = events.first() if len(newest) == LONGEST_HISTORY else None
        return [first, *newest[1:]] if first else newest

    def trace_of(self, row: LifecycleModel) -> str:
        """Return the `traceparent` that a job was created with, or an empty text."""
        first = self.of(row).values_list("details__traceparent", flat=True).first()
        return first or ""

    def traces_of(self, ids: Collection[UUID]) -> dict[UUID, str]:
        """Return the same for many jobs; those without a trace are left out."""
        created = self.filter(object_id__any_of=ids, event_type="JOB_CREATED", details__has_key="traceparent")
        return dict(created.values_list("object_id", "details__traceparent"))

    def record(self, row: LifecycleModel, event_type: str, **content: Any) -> None:
        """Record something that is not a move, in the transaction that caused it."""
        self.record_each([row], event_type, **content)

    def record_each(
        self,
        rows: Iterable[LifecycleModel],
        event_type: str,
        *,
        message: str = "",
        details: object = None,
        details_of: Callable[[Any], dict[str, object]] | None = None,  # where they differ from row to row
    ) -> None:
        """Record the same for several rows of a queue, in the states that they are in now."""
        context = current_context()
        actor = {"actor": storable(context.actor)} if context.actor else {}
        with transaction.atomic(using=self.db, savepoint=False):
            listed = list(rows)
            states = _locked_states(listed)
            self.bulk_create(
                Event(
                    queue=row.lifecycle.queue,
                    object_id=row.pk,
                    event_type=event_type,
                    from_state=states[row.pk],
                    to_state=states[row.pk],
                    message=storable(message or context.reason),
                    details=details_of(row) if details_of else details or {},
                    **actor,
                )
                for row in listed
                if row.pk in states  # else it was pruned, with its events
            )


def _locked_states(rows: Collection[LifecycleModel]) -> dict[UUID, str]:
    """Lock rows and return their states: one that moves meanwhile has its event before ours or after, as it moved."""
    if not rows:
        return {}
    model: Any = type(next(iter(rows)))
    same = model._base_manager.filter(pk__any_of=[row.pk for row in rows])
    return dict(same.order_by("pk").select_for_update(no_key=True).values_list("pk", "status"))


class SessionUser(models.Func):
    template = "SESSION_USER"
    output_field = models.CharField()


class Event(models.Model):
    queue = models.CharField(_("queue"), max_length=32)
    object_id = models.UUIDField(_("object id"))
    event_type = models.CharField(_("event type"), max_length=64)
    from_state = models.CharField(_("from state"), max_length=32, blank=True)
    to_state = models.CharField(_("to state"), max_length=32, blank=True)
    actor = models.CharField(_("actor"), max_length=200, db_default=SessionUser())
    message = models.TextField(_("message"), blank=True, db_default="")
    details = models.JSONField(_("details"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    objects = EventQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("event"), _("events")
        indexes = [
            # A job's page reads its timeline in order.
            models.Index(fields=["object_id", "id"], name="event_timeline"),
        ]
        triggers = [
            *only_erased("message", "details", subject="events", hint=HINT),
            *never(pgtrigger.Truncate, subject="events", hint=HINT),
            refuse_rows(
                "only_recorded",
                pgtrigger.Insert,
                FORGED,
                "format('event %s of %s %s cannot be inserted', NEW.event_type, NEW.queue, NEW.object_id)",
                hint="Moves are recorded by triggers. Move the row instead.",
            ),
            # Deleted only with their row, by its own trigger, when it is pruned (kilit.lock.triggers).
            *never(pgtrigger.Delete, subject="events", hint=HINT, unless="pg_trigger_depth() > 0"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} of {self.queue} {self.object_id}"


class Pruning(models.Model):
    """One batch of finished rows, deleted with their events; written by a trigger in the same statement."""

    queue = models.CharField(_("queue"), max_length=32)
    before = models.DateTimeField(
        _("finished before"), null=True, help_text="Only rows that finished before this time were deleted."
    )
    rows = models.IntegerField(_("rows"))
    events = models.IntegerField(_("events"))
    states = models.JSONField(_("states"), help_text="Rows by state.")
    oldest = models.DateTimeField(_("oldest"))
    newest = models.DateTimeField(_("newest"))
    actor = models.CharField(_("who"), max_length=200)
    message = models.TextField(_("why"), blank=True)
    created_at = models.DateTimeField(_("when"), db_default=Now())

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("pruned batch"), _("pruned rows")
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="records of pruning",
            hint="They are all that is left of the rows.",
        )

    def __str__(self) -> str:
        age = f" before {self.before:%F}" if self.before else ""
        return f"{self.rows} of {self.queue}{age}"
