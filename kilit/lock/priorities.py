"""Priorities of jobs that wait: a head start in the order of claims.

A job is claimed as if it had become due some hours earlier, or for low priority later. So an urgent job overtakes
everything of the last day, and no job is overtaken by one that came more than a day after it: none waits forever.
"""

from collections.abc import Collection
from typing import Any, Literal

from django.db import models, transaction
from django.db.models import Func
from django.utils.translation import gettext_lazy as _

from kilit.lock.models import Activity, ActivityKind, Event

PriorityName = Literal["low", "normal", "high", "urgent"]


class Priority(models.IntegerChoices):
    """Each value is the head start in hours; the indexes of claims are built with it."""

    LOW = -1, _("low")
    NORMAL = 0, _("normal")
    HIGH = 1, _("high")
    URGENT = 24, _("urgent")

    @property
    def api_name(self) -> str:
        return self.name.lower()


def priority_field() -> Any:
    return models.SmallIntegerField(_("priority"), choices=Priority, default=Priority.NORMAL, db_default=0)


class TurnTime(Func):
    """When it is a job's turn: `TurnTime("queued_at", "priority")`.

    In UTC without a zone, because only then is the difference immutable, and an index can be built with it.
    """

    template = "(timezone('UTC', %(expressions)s))"
    arg_joiner = ") - make_interval(hours => "
    output_field = models.DateTimeField()


def change_priority(row: Any, priority: Priority, *, waiting: Collection[str]) -> bool:
    """Change the priority of a job that waits, and record it; return False if it no longer waits or has it already."""
    rows = type(row)._default_manager.filter(pk=row.pk, status__in=waiting).exclude(priority=priority)
    with transaction.atomic():
        if not rows.update(priority=priority):
            return False
        row.refresh_from_db()
        verb = f"priority_{priority.api_name}"
        Event.objects.record(row, "PRIORITY_CHANGED", details={"verb": verb})
        Activity.objects.record(ActivityKind.ACTION, verb, queue=row.lifecycle.queue, object_id=str(row.pk))
    return True
