"""Error groups: failures by code and message, how many, since when, and actions on a whole group."""

from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.batches.error_entries import ErrorEntry
from kilit.batches.queues import Queue
from kilit.console.formatting import number as grouped
from kilit.console.formatting import page
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import TREND_HOURS, Group
from kilit.masking import mask_identifiers
from kilit.problems.failures import FailedRows, group_action
from kilit.problems.links import list_path
from kilit.problems.registry import ProblemAction
from kilit.sentences import english

MOST_GROUPS = 50
BAR = 5  # of so many units in the picture, one of them air
TALLEST = 32


class TrendBar(NamedTuple):
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
        heights = [max(1, round(number * TALLEST / most)) for number in self.hours]
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


class ErrorGroupRow(NamedTuple):
    group: Group
    message: str
    entry: ErrorEntry
    trend: Trend
    list_href: str
    action: ProblemAction | None
    states: list[tuple[object, int]]  # a badge for each, and how many


def group_message(group: Group) -> str:
    """Return the newest message; of a text from outside with an id its shape, as a short click id is not masked."""
    message = group.message or ""
    return group.shape if "<id>" in group.shape and english(message) == message else mask_identifiers(message)


def largest_groups(
    queue: Queue, user: User | AnonymousUser, *, limit: int
) -> tuple[list[Group], dict[str, list[int]], dict[str, ErrorEntry]]:
    """Return error groups, with the trend and the entry of each by its name."""
    name, scopes = queue.table.queue, queue.scopes_seen_by(user)
    example = queue.failures.example(queue.model._meta.db_table)
    groups = ErrorGroup.objects.largest(queue=name, scopes=scopes, limit=limit, example=example)
    trends = ErrorGroup.objects.trend([group.name for group in groups], queue=name, scopes=scopes)
    return groups, trends, queue.entries_of(groups)


def groups_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    queue = model_admin.queue
    largest, trends, entries = largest_groups(queue, request.user, limit=MOST_GROUPS + 1)
    listed, may_act = largest[:MOST_GROUPS], model_admin.has_operate_permission(request)

    def row(group: Group) -> ErrorGroupRow:
        entry = entries[group.name]
        rows = FailedRows(queue, entry, group.code, group.state, {"group": group.name}, group.scope)
        return ErrorGroupRow(
            group,
            group_message(group),
            entry,
            Trend(trends[group.name]),
            list_path(queue.model, group=group.name),
            action=group_action(rows, request.user) if may_act else None,
            states=[(model_admin.states.badge(state), number) for state, number in sorted(group.states.items())],
        )

    return page(
        model_admin,
        request,
        "admin/console/error_groups.html",
        title=_("Error groups of %(name)s") % {"name": model_admin.opts.verbose_name_plural},
        groups=[row(group) for group in listed],
        is_message_hidden=model_admin.page.is_message_hidden,
        are_more=len(largest) > MOST_GROUPS,
        most=MOST_GROUPS,
        list_href=model_admin.address("changelist"),
        states=model_admin.queue.table.words(model_admin.failures.states),
    )
