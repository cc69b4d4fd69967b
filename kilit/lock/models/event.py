"""The witness: one row for every move of every job, written by the database and never changed."""

from collections.abc import Iterable
from typing import Any, Self

import pgtrigger
from django.db import models
from django.db.models.functions import Now

from kilit.lock.audit import current_context
from kilit.lock.guard import LifecycleModel
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import never

MOST_TOLD = 500


class EventQuerySet(models.QuerySet["Event"]):
    def of(self, row: LifecycleModel) -> Self:
        """Return a job's timeline, oldest first; ids grow with time because a job's moves wait for each other."""
        return self.filter(queue=row.lifecycle.queue, object_id=row.pk).order_by("id")

    def history(self, row: LifecycleModel) -> list["Event"]:
        """Return a job's timeline; of very many events its birth and the newest, which tell what happens now."""
        events = self.of(row)
        newest = list(events.reverse()[:MOST_TOLD])[::-1]
        birth = events.first() if len(newest) == MOST_TOLD else None
        return [birth, *newest[1:]] if birth else newest

    def record(
        self,
        row: LifecycleModel,
        event_type: str,
        *,
        message: str = "",
        details: dict[str, Any] | None = None,
    ) -> "Event":
        """Note something that is not a move, in the transaction of whatever caused it."""
        return self.record_each([row], event_type, message=message, details=details)[0]

    def record_each(
        self,
        rows: Iterable[LifecycleModel],
        event_type: str,
        *,
        message: str = "",
        details: dict[str, Any] | None = None,
    ) -> list["Event"]:
        """Note the same of several jobs, in one statement."""
        now = current_context()
        actor = {"actor": strip_control_chars(now.actor)} if now.actor else {}
        return self.bulk_create(
            Event(
                queue=row.lifecycle.queue,
                object_id=row.pk,
                event_type=event_type,
                from_state=row.status,
                to_state=row.status,
                message=strip_control_chars(message or now.reason),
                details=details or {},
                **actor,
            )
            for row in rows
        )


class SessionUser(models.Func):
    """The database role that is logged in."""

    template = "SESSION_USER"
    output_field = models.CharField()


class Event(models.Model):
    """What happened to one job: when, from which state to which, who did it and why."""

    queue = models.CharField(max_length=32)
    object_id = models.UUIDField()
    event_type = models.CharField(max_length=64)
    from_state = models.CharField(max_length=32, blank=True)
    to_state = models.CharField(max_length=32, blank=True)
    actor = models.CharField(max_length=200, db_default=SessionUser())
    message = models.TextField(blank=True, db_default="")
    details = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = EventQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        indexes = [
            # A job's page reads its timeline in order.
            models.Index(fields=["object_id", "id"], name="event_timeline"),
        ]
        triggers = [
            *never(pgtrigger.Update, pgtrigger.Truncate, subject="events", hint="They are the witness."),
            # They go with their row alone: its own trigger deletes them when it is pruned (kilit.lock.triggers).
            *never(pgtrigger.Delete, subject="events", hint="They are the witness.", unless="pg_trigger_depth() > 0"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} of {self.queue} {self.object_id}"
