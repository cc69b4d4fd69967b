"""Error groups: failures by code and message, how many, since when, and actions on a whole group."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin

from kilit.console.formatting import number as grouped
from kilit.console.formatting import page
from kilit.console.lists.bulk_requests import bulk_address, encode
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import TREND_HOURS, Group

MOST_GROUPS = 50
TRY_AGAIN = ("retry", "approve")  # the actions that are offered for a group: never those that end
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


def groups_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    queue, scopes = model_admin.queue.table.queue, model_admin.queue.scopes_seen_by(request.user)
    largest = ErrorGroup.objects.largest(queue=queue, scopes=scopes, limit=MOST_GROUPS + 1)
    listed = largest[:MOST_GROUPS]
    names = [group.name for group in listed]
    trends = ErrorGroup.objects.trend(names, queue=queue, scopes=scopes)
    may_act = model_admin.has_operate_permission(request)
    expected = model_admin.expected_groups(listed)
    advice = model_admin.group_advice(names) if may_act else {}
    return page(
        model_admin,
        request,
        "admin/console/error_groups.html",
        title=_("Error groups of %(name)s") % {"name": model_admin.opts.verbose_name_plural},
        groups=[
            ErrorGroupRow(
                group._replace(shape=model_admin.group_text(group)),
                Trend(trends[group.name]),
                f"{model_admin.address('changelist')}?{encode({'group': group.name})}",
                actions=list(_actions_on(model_admin, group)) if may_act and group.name not in expected else [],
                states=[(model_admin.states.badge(state), number) for state, number in sorted(group.states.items())],
                advice="" if group.name in expected else advice.get(group.name, ""),
                is_expected=group.name in expected,
            )
            for group in listed
        ],
        are_more=len(largest) > MOST_GROUPS,
        most=MOST_GROUPS,
        list_href=model_admin.address("changelist"),
        states=model_admin.queue.table.words(model_admin.failures.states),
    )


def _actions_on(model_admin: ModelAdmin, group: Group) -> Iterator[tuple[str, str]]:
    for action in model_admin.actions:
        reach = sum(group.states.get(state, 0) for state in action.sources)
        if reach and action.name in TRY_AGAIN and action.operation.helps(group.code):
            text = ngettext("%(title)s this group (%(number)s row)", "%(title)s this group (%(number)s rows)", reach)
            label = text % {"title": action.title, "number": grouped(reach)}
            yield label, bulk_address(model_admin, action, {"group": group.name})
