"""The first page: every queue, the workers and the scheduled tasks, in constant time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.console.panels import Concern, Panel, PanelItem, panels
from kilit.console.workers_page import Workers, database_time, may_see_workers
from kilit.lock.models import Count
from kilit.lock.models.counts import Hour

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

ALARMING = 0.2  # of what ended in the last 24 hours failed
STUCK_SHOWN = 3
MOST_COUNTED = 1000

# The chart of a day
HEIGHT = 100
STEP = 10  # of one hour
BAR = 8
LEAST = 1.5  # a single row among thousands stays visible


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
class HourBar:
    hour: Hour
    x: int
    well_y: float
    well_height: float
    badly_height: float


@dataclass(frozen=True)
class DayChart:
    """A day as bars, drawn by the server: successes above the line, failures below it."""

    hours: Sequence[Hour]

    @property
    def began_at(self) -> datetime:
        return self.hours[0].began_at

    @property
    def well(self) -> int:
        return sum(hour.well for hour in self.hours)

    @property
    def badly(self) -> int:
        return sum(hour.badly for hour in self.hours)

    @property
    def error_rate(self) -> float | None:
        """The share of failures in what ended, or None when nothing ended."""
        ended = self.well + self.badly
        return self.badly / ended if ended else None

    @property
    def busiest(self) -> int:
        return max(hour.well + hour.badly for hour in self.hours)

    @property
    def width(self) -> int:
        return STEP * len(self.hours)

    @property
    def line(self) -> float:
        """The y of the line; both directions have the same scale."""
        return HEIGHT - self._height(max(hour.badly for hour in self.hours))

    def bars(self) -> list[HourBar]:
        line = self.line
        return [
            HourBar(hour, index * STEP + 1, max(0, line - well), well, self._height(hour.badly))
            for index, hour in enumerate(self.hours)
            for well in [self._height(hour.well)]
        ]

    def _height(self, number: int) -> float:
        tallest = max(hour.well for hour in self.hours) + max(hour.badly for hour in self.hours)
        return max(LEAST, round(HEIGHT * number / tallest, 2)) if number else 0


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
    totals = Count.objects.by_state(queue=panel.table.queue, scopes=scopes)
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
