"""Error groups: failures by code and message, how many, since when, and what to do with all of them (CON-6)."""

from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazily
from django.utils.translation import ngettext

from lifecycle.console.actions import Action
from lifecycle.console.dress import button, page
from lifecycle.console.listing import LongListAdmin
from lifecycle.failures import Failures
from lifecycle.models import ErrorGroup
from lifecycle.models.errors import TREND_HOURS, Group
from lifecycle.table import Lifecycle

MOST_GROUPS = 50
BAR = 5  # of so many units in the picture, one of them air
TALLEST = 32


@dataclass(frozen=True)
class Bar:
    """An hour of the trend, as the picture draws it."""

    x: int
    y: int
    height: int


@dataclass(frozen=True)
class Trend:
    """How many came in each of the last hours, as bars and in words."""

    hours: list[int]

    width, height = BAR * TREND_HOURS, TALLEST

    @property
    def bars(self) -> list[Bar]:
        """The bars, tallest for the worst hour; an hour without any leaves a line."""
        most = max(self.hours) or 1
        heights = [max(1, round(number * TALLEST / most)) if number else 1 for number in self.hours]
        return [Bar(place * BAR, TALLEST - height, height) for place, height in enumerate(heights)]

    @property
    def sentence(self) -> str:
        """The bars in words."""
        told = {"day": f"{sum(self.hours):,}", "hour": f"{self.hours[-1]:,}"}
        return _("%(day)s in the last 24 hours, %(hour)s of them in the current hour") % told

    @property
    def direction(self) -> str:
        """Whether it gets worse: the last three hours against the three before."""
        now, before = sum(self.hours[-3:]), sum(self.hours[-6:-3])
        if now > before:
            return _("rising")
        if now < before:
            return _("falling")
        return _("steady") if now else _("quiet")


@dataclass(frozen=True)
class Way:
    """Something to do with a whole group."""

    label: str
    href: str


@dataclass(frozen=True)
class ShownGroup:
    """A group as its page shows it."""

    group: Group
    trend: Trend
    list_href: str
    ways: list[Way]
    states: list[tuple[Any, int]]  # a badge for each, and how many


class ErrorGroupsAdmin(LongListAdmin):
    """Rows whose failures are grouped, on a page beside the list."""

    table: Lifecycle
    failures: Failures
    operations: tuple[Action, ...]
    # By their names in the address, what is offered for a group: verbs that try again, never those that end.
    for_groups: ClassVar[tuple[str, ...]] = ("retry", "approve")

    def badge(self, state: str) -> Any:
        """Return a state as the queue's pages show it."""
        return state

    def scopes(self, request: HttpRequest) -> list[str] | None:
        """Return whose failures a reader sees; none means everybody's."""
        return None

    @button(description=lazily("Error groups"), icon="stacks", permissions=["view"], url_path="groups")
    def error_groups(self, request: HttpRequest) -> HttpResponse:
        """Show the largest groups."""
        queue, scopes = self.table.queue, self.scopes(request)
        found = ErrorGroup.objects.largest(queue=queue, scopes=scopes, limit=MOST_GROUPS + 1)
        shown = found[:MOST_GROUPS]
        trends = ErrorGroup.objects.trend([group.name for group in shown], queue=queue, scopes=scopes)
        may_act = self.has_operate_permission(request)
        name = self.opts.verbose_name_plural
        return page(
            self,
            request,
            "admin/console/groups.html",
            title=_("Error groups of %(name)s") % {"name": name},
            groups=[self._shown(group, trends[group.name], may_act=may_act) for group in shown],
            are_more=len(found) > MOST_GROUPS,
            most=MOST_GROUPS,
            list_href=self._list(),
            states=", ".join(map(str, self.failures.states)),
        )

    def _shown(self, group: Group, hours: list[int], *, may_act: bool) -> ShownGroup:
        query = urlencode({"group": group.name})
        ways = [
            Way(self._way(str(action.title), reach), f"{self._list()}all/{action.name}/?{query}")
            for action in self.operations
            if action.name in self.for_groups and (reach := sum(group.states.get(state, 0) for state in action.sources))
        ]
        states = [(self.badge(state), number) for state, number in sorted(group.states.items())]
        return ShownGroup(group, Trend(hours), f"{self._list()}?{query}", ways if may_act else [], states)

    @staticmethod
    def _way(title: str, reach: int) -> str:
        words = ngettext("%(title)s this group (%(number)s row)", "%(title)s this group (%(number)s rows)", reach)
        return words % {"title": title, "number": f"{reach:,}"}

    def _list(self) -> str:
        return reverse(f"admin:{self._prefix()}_changelist")

    def _prefix(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"
