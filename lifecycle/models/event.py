"""The witness: one row for every move of every job, written by the database and never changed."""

from typing import Any, Self

import pgtrigger
from django.db import models
from django.db.models.functions import Now

from lifecycle.actor import acting, speakable
from lifecycle.guard import LifecycleModel, timeline_key
from lifecycle.triggers import never


class EventQuerySet(models.QuerySet["Event"]):
    """Questions about what happened."""

    def of(self, row: LifecycleModel) -> Self:
        """Return a job's timeline, oldest first; ids grow with time because a job's moves wait for each other."""
        queue, object_id = timeline_key(row)
        return self.filter(queue=queue, object_id=object_id).order_by("id")

    def record(
        self,
        row: LifecycleModel,
        event_type: str,
        *,
        message: str = "",
        details: dict[str, Any] | None = None,
    ) -> "Event":
        """Note something that is not a move, in the transaction of whatever caused it."""
        queue, object_id = timeline_key(row)
        now = acting()
        actor = {"actor": speakable(now.actor)} if now.actor else {}
        return self.create(
            queue=queue,
            object_id=object_id,
            event_type=event_type,
            from_state=row.status,
            to_state=row.status,
            message=speakable(message or now.reason),
            details=details or {},
            **actor,
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
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="events",
            hint="They are the witness.",
        )

    def __str__(self) -> str:
        return f"{self.event_type} of {self.queue} {self.object_id}"
