"""The first page: every queue, the workers and the scheduled tasks, in constant time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.console.chart import DayChart
from kilit.console.panels import Concern, Panel, PanelItem, panels
from kilit.console.workers_page import Workers, database_time, may_see_workers
from kilit.lock.models import Count

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

ALARMING = 0.2  # of what ended in the last 24 hours failed
STUCK_SHOWN = 3
MOST_COUNTED = 1000


@dataclass(frozen=True)
class StateCount:
    name: str
    colour: str
    rows: int
    href: str


@dataclass(frozen=True)
class StuckRows:
    rows: int
    items: Sequence[PanelItem]

    @property
    def is_capped(self) -> bool:
        return self.rows > MOST_COUNTED


@dataclass(frozen=True)
class PanelContent:
    """A queue's panel, filled in for one user."""

    panel: Panel
    states: Sequence[StateCount]
    oldest: PanelItem | None
    stuck: StuckRows
    chart: DayChart
    concerns: Sequence[Concern]

    @property
    def is_alarming(self) -> bool:
        return (self.chart.error_rate or 0) > ALARMING


def fill_panel(panel: Panel, user: "User | AnonymousUser") -> PanelContent:
    scopes = panel.scopes_seen_by(user)
    totals = totals_of(panel.table.queue, scopes)
    day = Count.objects.last_day(queue=panel.table.queue, well=panel.well, badly=panel.badly, scopes=scopes)
    return PanelContent(
        panel=panel,
        states=[
            StateCount(state, panel.colours[state], totals[state], panel.list_address(status=state))
            for state in panel.table.states
        ],
        oldest=panel.oldest(user),
        stuck=stuck_of(panel, user),
        chart=DayChart(day),
        concerns=[concern for concern in panel.concerns(user, totals) if concern.items],
    )


def totals_of(queue: str, scopes: Any) -> Counter[str]:
    mine = None if scopes is None else set(scopes)
    totals = Counter[str]()
    for total in Count.objects.totals(queue=queue):
        if mine is None or total.scope in mine:
            totals[total.state] += total.now
    return totals


def stuck_of(panel: Panel, user: "User | AnonymousUser") -> StuckRows:
    """Return the worst of the stuck rows, and how many there are, counted up to a cap."""
    rows = panel.stuck(user)
    worst = list(rows[: STUCK_SHOWN + 1])
    number = len(worst) if len(worst) <= STUCK_SHOWN else rows.order_by()[: MOST_COUNTED + 1].count()
    return StuckRows(number, [panel.item(row) for row in worst[:STUCK_SHOWN]])


def dashboard_context(request: HttpRequest) -> dict[str, Any]:
    user, now = request.user, database_time()
    queues = [fill_panel(panel, user) for panel in panels if panel.is_for(user)]
    return {
        "now": now,
        "panels": queues,
        "concerned": any(queue.concerns for queue in queues),
        "workers": Workers.seen_at(now) if may_see_workers(request) else None,
        "alarming": ALARMING,
        "most_counted": MOST_COUNTED,
    }


def on_index(request: HttpRequest, context: Mapping[str, Any]) -> dict[str, Any]:
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
