"""When orders are due: what is open, what is late, and changing the day."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from kilit.lock.models import Activity, ActivityKind, Event
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import page_path, row_path
from kilit.problems.registry import MOST_NAMED, Place, Problem, Severity, with_number
from orchestrator.models import Job
from orchestrator.models.job import IS_DUE, JobQuerySet
from orchestrator.states import JOBS, OPEN

DUE_CHANGED = "DUE_CHANGED"
MOST_COUNTED = 1_000
LATE = ngettext_lazy("%(number)s order is late", "%(number)s orders are late", "count")


def open_jobs() -> JobQuerySet:
    """Return the jobs that customers wait for, those that are due first before the others."""
    rows = Job.objects.filter(status__in=OPEN).order_by(F("due_on").asc(nulls_last=True), "-priority", "id")
    return rows.defer("payload", "figures", "planning")


def due_jobs() -> JobQuerySet:
    return Job.objects.filter(IS_DUE)


def perhaps_late_jobs() -> JobQuerySet:
    """Return the late jobs of any time zone, by the database's clock."""
    return due_jobs().filter(due_on__lt=Now())


def late_jobs() -> JobQuerySet:
    return due_jobs().filter(due_on__lt=timezone.localdate()).order_by("due_on", "id")


def is_used() -> bool:
    """Return whether an open order has a due date; without one, nothing is shown of them."""
    return due_jobs().exists()


def change_due(job: Job, day: date | None) -> bool:
    """Change the day of an open job, and record it; return False if it is over, or due on that day already."""
    rows = Job.objects.filter(pk=job.pk, status__in=OPEN).exclude(due_on=day)
    with transaction.atomic():
        locked = rows.select_for_update().values_list("due_on", flat=True)
        if not (before := list(locked)):
            return False
        rows.update(due_on=day)
        days = {"before": str(before[0] or ""), "after": str(day or "")}
        Event.objects.record(job, DUE_CHANGED, details=days)
        Activity.objects.record(ActivityKind.ACTION, DUE_CHANGED, queue=JOBS.queue, object_id=str(job.pk))
    job.due_on = day
    return True


def late_orders(_reader: object) -> Iterator[Problem]:
    """Return a line for the open orders whose day is over."""
    oldest = list(late_jobs().only("order_id", "due_on")[:MOST_NAMED])
    if not oldest or not oldest[0].due_on:
        return
    count = late_jobs().order_by()[:MOST_COUNTED].count()
    yield Problem(
        part=JOBS.queue,
        kind=ProblemKind.LATE_ORDERS,
        severity=Severity.WARNING,
        title=with_number(LATE, count),
        cause=_("an operator has them cut first, or agrees on another day with the customer"),
        count=count,
        where=[Place(job.order_id, link=row_path(job)) for job in oldest],
        beyond=count - len(oldest),
        since=timezone.make_aware(datetime.combine(oldest[0].due_on + timedelta(days=1), time())),
        link=page_path(Job, "days") if count > 1 else row_path(oldest[0]),
    )
