"""The operators' first screen: every queue, the workers and the sweeps, in constant time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.console.chart import Chart
from kilit.console.panels import Concern, Item, Panel, panels
from kilit.console.workers_page import Workers, database_time, may_see_workers
from kilit.lock.models import Count

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

ALARMING = 0.2  # of what ended in the last 24 hours failed
STUCK_SHOWN = 3
MOST_COUNTED = 1000


@dataclass(frozen=True)
class State:
    """How many rows are in a state, and the way to them."""

    name: str
    colour: str
    rows: int
    href: str


@dataclass(frozen=True)
class Stuck:
    """Rows that should have moved on by now: how many, and the worst of them."""

    rows: int
    items: Sequence[Item]

    @property
    def is_capped(self) -> bool:
        """Whether there are more than anybody counted."""
        return self.rows > MOST_COUNTED


@dataclass(frozen=True)
class Shown:
    """A queue's panel, filled in for one user."""

    panel: Panel
    states: Sequence[State]
    oldest: Item | None
    stuck: Stuck
    chart: Chart
    concerns: Sequence[Concern]

    @property
    def is_alarming(self) -> bool:
        return (self.chart.error_rate or 0) > ALARMING


def shown(panel: Panel, user: "User | AnonymousUser") -> Shown:
    """Ask a queue how it is doing, as far as a user may know."""
    scopes = panel.scopes_seen_by(user)
    totals = totals_of(panel.table.queue, scopes)
    day = Count.objects.last_day(queue=panel.table.queue, well=panel.well, badly=panel.badly, scopes=scopes)
    return Shown(
        panel=panel,
        states=[
            State(state, panel.colours[state], totals[state], panel.list_address(status=state))
            for state in panel.table.states
        ],
        oldest=panel.oldest(user),
        stuck=stuck_of(panel, user),
        chart=Chart(day),
        concerns=[concern for concern in panel.concerns(user, totals) if concern.items],
    )


def totals_of(queue: str, scopes: Any) -> Counter[str]:
    """Return rows per state, of all scopes or of some."""
    mine = None if scopes is None else set(scopes)
    totals = Counter[str]()
    for total in Count.objects.totals(queue=queue):
        if mine is None or total.scope in mine:
            totals[total.state] += total.now
    return totals


def stuck_of(panel: Panel, user: "User | AnonymousUser") -> Stuck:
    """Return the worst of the stuck rows, and how many there are, counted no further than anybody reads."""
    rows = panel.stuck(user)
    worst = list(rows[: STUCK_SHOWN + 1])
    number = len(worst) if len(worst) <= STUCK_SHOWN else rows.order_by()[: MOST_COUNTED + 1].count()
    return Stuck(number, [panel.item(row) for row in worst[:STUCK_SHOWN]])


def facts(request: HttpRequest) -> dict[str, Any]:
    """Return all there is to show to whoever asks."""
    user, now = request.user, database_time()
    queues = [shown(panel, user) for panel in panels if panel.is_for(user)]
    return {
        "now": now,
        "shown": queues,
        "concerned": any(queue.concerns for queue in queues),
        "workers": Workers.seen_at(now) if may_see_workers(request) else None,
        "alarming": ALARMING,
        "most_counted": MOST_COUNTED,
    }


def on_index(request: HttpRequest, context: Mapping[str, Any]) -> dict[str, Any]:
    """Put the dashboard on the console's first page; unfold calls this."""
    return {**context, **facts(request), "is_fullwidth": "1"}


@require_safe
@never_cache
def part(request: HttpRequest) -> HttpResponse:
    """Return the part of the first page that refreshes itself.

    Whoever is not logged in any more is told to load the page, which asks for the password; a redirect would put the
    login form in the middle of the numbers.
    """
    if not admin.site.has_permission(request):
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})
    return render(request, "admin/console/dashboard/board.html", facts(request))
