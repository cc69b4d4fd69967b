"""The open orders by the day they are due, with how long cutting them takes, and the page that changes a day."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.db.models.fields.json import KeyTextTransform
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kilit.console.formatting import page
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.lists.fields import DayInput
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import Event
from kilit.spans import format_span
from orchestrator.admin.calendar import weeks
from orchestrator.admin.columns import due_badge, state
from orchestrator.due import change_due, is_used, open_jobs
from orchestrator.models import Job
from orchestrator.states import OPEN

MOST_SHOWN = 300
LATER, UNDATED = gettext_lazy("Later"), gettext_lazy("Without a due date")


@dataclass
class DueGroup:
    title: StrOrPromise
    rows: list[dict[str, object]] = field(default_factory=list)
    cutting: timedelta = timedelta()
    unplanned: int = 0
    by_saw: dict[str, timedelta] = field(default_factory=dict)

    def add(self, job: Any) -> None:
        seconds = job.seconds if job.xml_sha256 else None  # of a solution that belongs to the sheets
        span = timedelta(seconds=float(Decimal(seconds))) if seconds else timedelta()
        self.cutting, self.unplanned = self.cutting + span, self.unplanned + (not span)
        if span and job.saw:
            self.by_saw[job.saw] = self.by_saw.get(job.saw, timedelta()) + span
        time = format_span(span, units=2) if span else _("not planned yet")
        self.rows.append({"job": job, "due": due_badge(job), "state": state(job), "time": time})

    @property
    def sum(self) -> str:
        return format_span(self.cutting, units=2) if self.cutting else ""

    @property
    def sums(self) -> list[str]:
        return [f"{saw}: {format_span(span, units=2)}" for saw, span in sorted(self.by_saw.items())]


def groups(jobs: list[Any], *, today: date) -> Iterator[DueGroup]:
    """Yield the groups that have orders, the most pressing first; a week ends on Sunday."""
    sunday = today + timedelta(days=6 - today.weekday())
    ends = [
        (today - timedelta(days=1), DueGroup(gettext_lazy("Late"))),
        (today, DueGroup(gettext_lazy("Today"))),
        (today + timedelta(days=1), DueGroup(gettext_lazy("Tomorrow"))),
        (sunday, DueGroup(gettext_lazy("This week"))),
        (date.max, DueGroup(LATER)),
    ]
    undated = DueGroup(UNDATED)
    for job in jobs:
        fitting = (group for end, group in ends if job.due_on and job.due_on <= end)
        next(fitting, undated).add(job)
    return (group for group in [*(group for _end, group in ends), undated] if group.rows)


def days_page(model_admin: QueueAdmin, request: HttpRequest) -> HttpResponse:
    jobs = open_jobs().annotate(seconds=KeyTextTransform("time_s", "solution")).defer("solution")
    shown = list(jobs.select_related("customer")[: MOST_SHOWN + 1])
    today, listed = timezone.localdate(), {job.due_on for job in shown[:MOST_SHOWN] if job.due_on}
    return page(
        model_admin,
        request,
        "admin/orchestrator/days.html",
        title=_("By due date"),
        has_saws=any(job.saw for job in shown),
        weeks=weeks(listed, today=today),
        groups=list(groups(shown[:MOST_SHOWN], today=today)),
        is_cut_short=len(shown) > MOST_SHOWN,
    )


class DueForm(forms.Form):
    due_on = forms.DateField(
        label=gettext_lazy("Due date"),
        required=False,
        input_formats=["%Y-%m-%d", "%d.%m.%Y"],
        widget=DayInput,
        help_text=gettext_lazy("Empty: without a due date."),
    )


def due_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse | None:
    given = {"due_on": job.due_on.isoformat() if job.due_on else ""}
    form = DueForm(request.POST if request.method == "POST" else None, initial=given)
    if not form.is_valid():
        title = _("When is order %(order)s due?") % {"order": job.order_id}
        return model_admin.confirm(request, job, title=title, form=form, submit=_("Save"))
    if change_due(job, form.cleaned_data["due_on"]):
        messages.success(request, _("The due date was changed."))
    else:
        messages.info(request, _("Nothing was changed: the job has this due date, or it is over."))
    return None


def offer_due_date(job: Job, offers: Offers, _user: User | AnonymousUser) -> Offers:
    """Offer to change the day where orders have due dates."""
    if job.status not in OPEN or not (job.due_on or is_used()):
        return offers
    href = reverse("admin:orchestrator_job_due", args=[job.pk])
    return {**offers, "due": JobOffer(_("Change the due date"), href)}


def changed_days(event: Event) -> str:
    days = [parse_date(event.details.get(name, "")) for name in ("before", "after")]
    return " → ".join(date_format(day) if day else _("none") for day in days)
