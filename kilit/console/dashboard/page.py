"""The first page: what is wrong, and a strip for each queue, in constant time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_stubs_ext import StrOrPromise

from kilit.batches.queues import queues
from kilit.console.dashboard.charts import RANGES, Chart, midnights
from kilit.console.dashboard.workers_page import may_see_workers
from kilit.console.queue_admin import OldestRow, QueueAdmin
from kilit.lock.clock import database_time
from kilit.lock.models import Count
from kilit.problems.links import list_path
from kilit.problems.models import ProblemRecord
from kilit.problems.queues import triage
from kilit.problems.registry import Problem
from kilit.problems.workers import TASKS, WORKERS

MOST_SHOWN = 8  # problems; others without an action are folded, so that the strips stay in sight


class StateCount(NamedTuple):
    name: str
    colour: str
    rows: int
    href: str
    label: StrOrPromise = ""  # what people call it


@dataclass(frozen=True)
class QueueStrip:
    panel: QueueAdmin
    states: Sequence[StateCount]
    oldest: OldestRow | None
    chart: Chart

    @property
    def href(self) -> str:
        return list_path(self.panel.queue.model)

    @property
    def is_alarming(self) -> bool:
        return (self.chart.error_rate or 0) > self.panel.queue.alarming_share


class HealthyPart(NamedTuple):
    title: StrOrPromise
    href: str


def panels() -> list[QueueAdmin]:
    """Return the admins of the queues that have a strip."""
    admins: Iterator[Any] = (admin.site.get_model_admin(queue.model) for queue in queues.values())
    return [model_admin for model_admin in admins if model_admin.oldest_means]


def fill_strips(
    panels: Sequence[QueueAdmin], user: User | AnonymousUser, *, now: datetime, days: int = 1
) -> list[QueueStrip]:
    ended: list[Any] = [
        {"queue": queue.table.queue, "well": queue.well, "badly": queue.badly, "scopes": queue.scopes_seen_by(user)}
        for queue in (panel.queue for panel in panels)
    ]
    totals = Count.objects.each_by_state([(each["queue"], each["scopes"]) for each in ended])
    if days == 1:
        periods = Count.objects.each_last_day(ended)
    else:
        periods = [Count.objects.last_days(midnights(days, now), **each) for each in ended]
    by_panel = zip(panels, totals, periods, strict=True)
    return [_strip(panel, user, counts, hours, days=days) for panel, counts, hours in by_panel]


def _strip(
    panel: QueueAdmin, user: User | AnonymousUser, totals: Mapping[str, int], periods: Sequence[Any], *, days: int
) -> QueueStrip:
    queue, words = panel.queue, panel.states

    def list_of(states: Collection[str]) -> str:
        return list_path(queue.model, status=next(iter(states)))

    return QueueStrip(
        panel=panel,
        states=[
            StateCount(state, words.colours[state], totals[state], list_of([state]), words.labels[state])
            for state in queue.table.states
            if totals[state]
        ],
        oldest=panel.oldest_row(user),
        chart=Chart(periods, days, (list_of(queue.well), list_of(queue.badly))),
    )


def dashboard_context(request: HttpRequest) -> dict[str, object]:
    user, live = request.user, getattr(request, "live", None)
    now = live.now if live else database_time()
    days = next((number for number in RANGES if str(number) == request.GET.get("days")), RANGES[0])
    shown = [panel for panel in panels() if panel.queue.may_see(user) and panel.is_in_use(user)]
    problems = triage(user)
    further = [problem for problem in problems[MOST_SHOWN:] if not problem.action]
    further = further if len(further) > 1 else []  # one takes no more room than the line that folds it
    return {
        "now": now,
        "problems": [problem for problem in problems if problem not in further],
        "further_problems": further,
        "records": ProblemRecord.objects.to_mute(user) if problems else {},
        "healthy": healthy_parts(request, shown, problems),
        "strips": fill_strips(shown, user, now=now, days=days),
        "has_role": bool(shown) or may_see_workers(request),
        "days": days,
        "ranges": RANGES,
    }


def healthy_parts(request: HttpRequest, shown: Sequence[QueueAdmin], problems: Sequence[Problem]) -> list[HealthyPart]:
    """Return the parts without a problem, for one line."""
    shown_queues = [panel.queue for panel in shown]
    parts = {queue.table.queue: HealthyPart(queue.title, list_path(queue.model)) for queue in shown_queues}
    if may_see_workers(request):
        workers = reverse("console:workers")
        parts[WORKERS] = HealthyPart(_("Workers"), workers)
        parts[TASKS] = HealthyPart(_("Scheduled tasks"), f"{workers}#sweeps-title")
    troubled = {problem.part for problem in problems}
    return [part for name, part in parts.items() if name not in troubled]


def on_index(request: HttpRequest, context: Mapping[str, object]) -> dict[str, object]:
    """Put the dashboard on the console's first page; unfold calls this."""
    return {**context, **dashboard_context(request), "is_fullwidth": "1"}


@require_safe
@never_cache
def part(request: HttpRequest) -> HttpResponse:
    """Return the part of the first page that refreshes itself.

    A logged-out browser is made to reload the page, which asks for the password; a redirect would put the login form
    in the middle of the numbers.
    """
    if not admin.site.has_permission(request):
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})
    return render(request, "admin/console/dashboard/board.html", dashboard_context(request))
