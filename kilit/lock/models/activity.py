"""What people and scheduled tasks did, one row for each statement, however many jobs it moved.

Moves are recorded by the triggers of each queue, changes of settings and denied requests by those of kilit.access.
Claims and results of machines are not in it: a job's own timeline has them (models.Event).
"""

from typing import Self

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import current_context, person_of
from kilit.lock.column_guards import listed
from kilit.lock.prefixes import prefix_index
from kilit.lock.text import storable
from kilit.lock.triggers import never, only_erased

HINT = "It is an audit log."


class ActivityKind(models.TextChoices):
    ACTION = "action", _("Actions")
    TASK = "task", _("Scheduled tasks and commands")
    IMPORT = "import", _("Imports")
    PAUSE = "pause", _("Pauses")
    KEY = "key", _("Keys")
    CREDENTIALS = "credentials", _("Credentials")
    MEMBER = "member", _("Users and members")
    RULES = "rules", _("Rules")
    SETTINGS = "settings", _("Settings")
    LOGIN = "login", _("Logins")
    DENIED = "denied", _("Denied requests")


# Only of these rows may be deleted, after a week: what they say about a person is not needed for long.
FORGOTTEN = (ActivityKind.LOGIN, ActivityKind.DENIED)
NOT_YET = f"OLD.kind NOT IN ({listed(FORGOTTEN)}) OR OLD.created_at > now() - interval '7 days'"


class ActivityQuerySet(models.QuerySet["Activity"]):
    def record(self, kind: ActivityKind, verb: str, **values: object) -> "Activity":
        """Record what the current actor did, with the reason given for it."""
        context = current_context()
        values = {"actor": context.actor, "message": context.reason, **values}
        texts = {name: storable(value) for name, value in values.items() if isinstance(value, str)}
        return self.create(kind=kind, verb=verb, **{"person": person_of(texts["actor"]), **values, **texts})

    def forget_old(self, *, before: object) -> int:
        return self.filter(kind__in=FORGOTTEN, created_at__lt=before).delete()[0]

    def whole(self) -> Self:
        """Leave out the rows that repeat a part of another for a single scope."""
        return self.filter(is_part=False)


class Activity(models.Model):
    kind = models.CharField(_("kind"), max_length=16, choices=ActivityKind)
    actor = models.CharField(_("actor"), max_length=200)
    person = models.CharField(_("person"), max_length=150, blank=True, db_default="", help_text="Empty for machines.")
    queue = models.CharField(_("queue"), max_length=32, blank=True, db_default="")
    scope = models.CharField(_("site"), max_length=255, blank=True, db_default="", help_text="Of one site, its id.")
    verb = models.CharField(_("what"), max_length=64, help_text="A verb of the queue, or what became of an object.")
    rows = models.IntegerField(_("rows"), db_default=1)
    model = models.CharField(max_length=150, blank=True, db_default="", help_text="Of an object, as app.model.")
    object_id = models.CharField(max_length=255, blank=True, db_default="", help_text="Empty if there are several.")
    object_name = models.CharField(max_length=300, blank=True, db_default="")
    message = models.TextField(_("reason"), blank=True, db_default="")
    # Jobs of several sites moved at once have one row in all, and one for each site as a part of it.
    is_part = models.BooleanField(db_default=False)
    first_event = models.BigIntegerField(null=True)
    last_event = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    objects = ActivityQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("activity"), _("activity")
        indexes = [
            # The list, newest first: of people who see a part of it, of all, and with each of its filters.
            models.Index(fields=["created_at", "id"], name="activity_by_time"),
            models.Index(fields=["created_at", "id"], condition=Q(is_part=False), name="activity_newest"),
            models.Index(fields=["kind", "created_at", "id"], condition=Q(is_part=False), name="activity_of_kind"),
            models.Index(fields=["queue", "created_at", "id"], condition=Q(is_part=False), name="activity_of_queue"),
            models.Index(fields=["person", "created_at", "id"], condition=~Q(person=""), name="activity_of_person"),
            models.Index(fields=["scope", "created_at", "id"], condition=~Q(scope=""), name="activity_of_scope"),
            # An audit compares it with the events of one span after the other.
            models.Index(fields=["first_event"], condition=Q(is_part=False), name="activity_by_event"),
            # The search: each finds few rows among millions.
            prefix_index("activity_person", "person"),
            prefix_index("activity_object_name", "object_name"),
            models.Index(fields=["object_id"], name="activity_of_object"),
        ]
        triggers = [
            *only_erased("message", "object_name", subject="activity", hint=HINT),
            *never(pgtrigger.Truncate, subject="activity", hint=HINT),
            pgtrigger.Trigger(
                name="kept",
                when=pgtrigger.Before,
                operation=pgtrigger.Delete,
                condition=pgtrigger.Condition(NOT_YET),
                func="""
                RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity cannot be deleted',
                  HINT = 'Only old logins and denied requests are.';
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb} by {self.actor}"
