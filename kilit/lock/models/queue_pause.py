"""Pauses of whole queues: while a queue has a row here, its jobs are not claimed.

A claim reads the row in its own WHERE (`is_not_paused`), so a claim that starts after a pause was committed takes no
job. Jobs that are claimed already finish, and new jobs are accepted. Triggers record each pause and its end.
"""

from typing import Self

import pgtrigger
from django.db import models, transaction
from django.db.models import Exists, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import current_context, person_in_sql, set_audit_context
from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from kilit.lock.models.event import SessionUser
from kilit.lock.table import Lifecycle
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import after_statement, never

RECORD = """
    WITH changed AS (SELECT id, queue, {actor} AS actor, {message} AS message FROM {rows}),
    events AS (
      INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
      SELECT queue, id, '{event_type}', '', '', actor, message, '{{}}', now() FROM changed
    )
    INSERT INTO lock_activity (kind, actor, person, queue, verb, message, created_at)
    SELECT 'pause', actor, {person},
      queue, '{verb}', message, now()
    FROM changed;
    RETURN NULL;
"""
PAUSED = RECORD.format(
    event_type="QUEUE_PAUSED",
    verb="pause",
    actor="paused_by",
    message="reason",
    rows="new_rows",
    person=person_in_sql("actor"),
)
RESUMED = RECORD.format(
    event_type="QUEUE_RESUMED",
    verb="resume",
    actor="coalesce(nullif(current_setting('kilit.actor', true), ''), session_user)",
    message="coalesce(current_setting('kilit.reason', true), '')",
    rows="old_rows",
    person=person_in_sql("actor"),
)


class QueuePauseQuerySet(models.QuerySet["QueuePause"]):
    def of(self, table: Lifecycle) -> Self:
        return self.filter(queue=table.queue)

    def pause(self, table: Lifecycle, *, reason: str) -> bool:
        """Pause a queue; return False if it was paused already, by whom and why as before."""
        actor = strip_control_chars(current_context().actor)
        by = {"paused_by": actor} if actor else {}
        return self.get_or_create(queue=table.queue, defaults={"reason": strip_control_chars(reason), **by})[1]

    def resume(self, table: Lifecycle) -> bool:
        """End the pause of a queue; return False if it was not paused."""
        with transaction.atomic(using=self.db):
            set_audit_context(verb="", using=self.db)
            return bool(self.of(table).delete()[0])


class QueuePause(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)  # its events have it as their object
    queue = models.CharField(_("queue"), max_length=32)
    paused_at = models.DateTimeField(_("paused at"), db_default=Now())
    paused_by = models.CharField(_("paused by"), max_length=200, db_default=SessionUser())
    reason = models.CharField(_("reason"), max_length=200)

    objects = QueuePauseQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = [
            # Claims look for the pause of their queue; of two people who pause it at once, one does.
            models.UniqueConstraint(fields=["queue"], name="one_pause_per_queue"),
            *checks(queue_pause_has_reason=~Q(reason="")),
        ]
        triggers = [
            after_statement("record_pause", pgtrigger.Insert, PAUSED),
            after_statement("record_resume", pgtrigger.Delete, RESUMED),
            *never(pgtrigger.Update, pgtrigger.Truncate, subject="pauses", hint="Resume the queue and pause it again."),
        ]

    def __str__(self) -> str:
        return f"pause of {self.queue}"


def is_not_paused(table: Lifecycle) -> Q:
    """Return the condition that a claim adds to its WHERE; PostgreSQL evaluates it once for the statement."""
    return ~Q(Exists(QueuePause.objects.of(table)))
