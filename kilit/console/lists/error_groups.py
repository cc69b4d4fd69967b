"""Error groups: failures by code and message, how many, since when, and actions on a whole group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.formatting import button, code_badge, page
from kilit.console.formatting import number as grouped
from kilit.console.lists.bulk_requests import FollowUpAdmin, encode
from kilit.lock.failures import Failures
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import TREND_HOURS, Group

MOST_GROUPS = 50
BAR = 5  # of so many units in the picture, one of them air
TALLEST = 32


@dataclass(frozen=True)
class TrendBar:
    x: int
    y: int
    height: int


@dataclass(frozen=True)
class Trend:
    """How many failures came in each of the last hours, as bars and as text."""

    hours: list[int]

    width, height = BAR * TREND_HOURS, TALLEST

    @property
    def bars(self) -> list[TrendBar]:
        """The bars, tallest for the worst hour; an hour without failures leaves a line."""
        most = max(self.hours) or 1
        heights = [max(1, round(number * TALLEST / most)) if number else 1 for number in self.hours]
        return [TrendBar(place * BAR, TALLEST - height, height) for place, height in enumerate(heights)]

    @property
    def sentence(self) -> str:
        counts = {"day": grouped(sum(self.hours)), "hour": grouped(self.hours[-1])}
        return _("%(day)s in the last 24 hours, %(hour)s of them in the current hour") % counts

    @property
    def direction(self) -> str:
        """Whether it gets worse: the last three hours against the three before; a quiet hour ends a rise."""
        now, before = sum(self.hours[-3:]), sum(self.hours[-6:-3])
        if now > before and self.hours[-1]:
            return _("rising")
        if now != before:
            return _("falling")
        return _("steady") if now else _("quiet")


@dataclass(frozen=True)
class ErrorGroupRow:
    group: Group
    trend: Trend
    list_href: str
    actions: list[tuple[str, str]]  # a label and an address
    states: list[tuple[object, int]]  # a badge for each, and how many
    advice: str = ""
    is_expected: bool = False


class ErrorGroupsAdmin(FollowUpAdmin):
    """Adds a page of error groups to a list; a group is one of the list's filters."""

    failures: Failures
    state_badge: Callable[[str], Any] = staticmethod(code_badge)
    # What is offered for a group: actions that try again, never those that end.
    group_actions: ClassVar[tuple[str, ...]] = ("retry", "approve")

    @button(description=gettext_lazy("Error groups"), icon="stacks", permissions=["view"], url_path="groups")
    def error_groups(self, request: HttpRequest) -> HttpResponse:
        queue, scopes = self.queue.table.queue, self.queue.scopes_seen_by(request.user)
        largest = ErrorGroup.objects.largest(queue=queue, scopes=scopes, limit=MOST_GROUPS + 1)
        listed = largest[:MOST_GROUPS]
        trends = ErrorGroup.objects.trend([group.name for group in listed], queue=queue, scopes=scopes)
        may_act = self.has_operate_permission(request)
        advice = self.group_advice([group.name for group in listed]) if may_act else {}
        expected = self.expected_groups(listed)
        advice = {name: text for name, text in advice.items() if name not in expected}
        return page(
            self,
            request,
            "admin/console/error_groups.html",
            title=_("Error groups of %(name)s") % {"name": self.opts.verbose_name_plural},
            groups=[
                replace(
                    self._shown(group, trends[group.name], may_act=may_act and group.name not in expected),
                    advice=advice.get(group.name, ""),
                    is_expected=group.name in expected,
                )
                for group in listed
            ],
            are_more=len(largest) > MOST_GROUPS,
            most=MOST_GROUPS,
            list_href=self.address("changelist"),
            states=", ".join(map(str, self.failures.states)),
        )

    def group_advice(self, names: list[str]) -> Mapping[str, str]:
        """Return what helps the rows of a group, by its name, where that is known."""
        return {}

    def expected_groups(self, groups: list[Group]) -> set[str]:
        """Return the names of groups that leave nothing to do: no action is offered for them."""
        return set()

    def _shown(self, group: Group, hours: list[int], *, may_act: bool) -> ErrorGroupRow:
        filters, actions = {"group": group.name}, []
        for action in self.operator_actions:
            reach = sum(group.states.get(state, 0) for state in action.sources)
            if reach and action.name in self.group_actions and action.operation.helps(group.code):
                actions.append((self._label(str(action.title), reach), self.bulk_address(action, filters)))
        states = [(self.state_badge(state), number) for state, number in sorted(group.states.items())]
        listed = f"{self.address('changelist')}?{encode(filters)}"
        actions = actions if may_act else []
        return ErrorGroupRow(group, Trend(hours), listed, actions, states)

    @staticmethod
    def _label(title: str, reach: int) -> str:
        text = ngettext("%(title)s this group (%(number)s row)", "%(title)s this group (%(number)s rows)", reach)
        return text % {"title": title, "number": grouped(reach)}
