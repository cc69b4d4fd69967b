"""Failed jobs as problems: a line for each cause of the last day, one for all others, one for what is older."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.error_entries import ErrorEntry
from kilit.batches.queues import Queue, queues
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import Cause, failures_of
from kilit.lock.table import Kind
from kilit.machine_errors import explain
from kilit.masking import mask_personal_data
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path
from kilit.problems.registry import (
    Place,
    Problem,
    ProblemAction,
    ProblemSource,
    Reader,
    Severity,
    once,
    problem_key,
    with_number,
)
from kilit.sites.models import Tenant

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

RECENT = timedelta(days=1)
MOST_CAUSES = 6  # of the last day that get a line of their own
LONGEST_CAUSE = 200
PLACES = re.compile("[#…]")  # in a shape, for what differs
FAILED = gettext_lazy("%(queue)s: %(number)s failed")


def causes_of(queue: Queue, reader: Reader) -> list[Cause]:
    """Return why a queue's jobs failed, without those that a person ended. All queues are asked at once."""
    return once(("causes", reader), lambda: _all_causes(reader)).get(queue.table.queue, [])


def _all_causes(reader: Reader) -> dict[str, list[Cause]]:
    wanted = {
        name: failures_in(queue, queue.scopes_shown_to(reader))
        for name, queue in queues.items()
        if queue.may_see(reader)
    }
    return dict(zip(wanted, ErrorGroup.objects.causes(*wanted.values()), strict=True))


def failures_in(queue: Queue, scopes: list[str] | None) -> dict[str, Any]:
    table = queue.table
    states, without = list(table.of_kind(Kind.FAILED)), list(table.by_hand.values())
    return {"queue": table.queue, "states": states, "scopes": scopes, "without": without}


def sites() -> list[tuple[UUID, str, datetime | None]]:
    """Return id, name and time of archiving of every site."""
    return once("sites", lambda: list(Tenant.objects.values_list("pk", "name", "archived_at")))


@dataclass(frozen=True)
class FailedRows:
    """Rows that failed for one cause: what a way on for all of them needs to know."""

    queue: Queue
    entry: ErrorEntry
    code: str
    state: str
    filters: Mapping[str, str]  # of their list
    scope: str = ""  # the site that has all of them
    count: int = 1


# The ways on that are no operations, by the name of the queue and their own: each returns an action if it is possible.
Step = Callable[[FailedRows, Reader], ProblemAction | None]
group_steps: dict[str, Mapping[str, Step]] = {}
REVIEWS = {"retry": gettext_lazy("Review and retry"), "approve": gettext_lazy("Review and approve")}


def group_action(rows: FailedRows, reader: Reader) -> ProblemAction | None:
    """Return what helps all the rows, for a reader who may act: the first way on that is possible now."""
    steps = group_steps.get(rows.queue.table.queue, {})
    actions = (steps[name](rows, reader) if name in steps else review(rows, name) for name in rows.entry.group)
    return next(filter(None, actions), None)


def review(rows: FailedRows, operation: str) -> ProblemAction:
    """Lead to the page that shows what an operation would do to all the rows, and does it."""
    return ProblemAction(str(REVIEWS[operation]), page_path(rows.queue.model, "act_on_all", operation, **rows.filters))


def failures(
    queue: Queue, *, title: "StrOrPromise" = FAILED, scope_names: Callable[[], Mapping[str, str]] = dict
) -> ProblemSource:
    """Return what finds a queue's failures for a reader; a queue may give its own words."""

    def find(reader: Reader) -> list[Problem]:
        causes = causes_of(queue, reader)
        if not causes:
            return []
        return FailureLines(queue=queue, title=title, reader=reader, scope_names=scope_names()).problems(causes)

    return ProblemSource(find, lambda: failures_of(queue.table.queue))


@dataclass(frozen=True, kw_only=True)
class FailureLines:
    """How a queue words its failures."""

    queue: Queue
    title: "StrOrPromise"  # “7,021 conversions failed”, by "count"
    reader: Reader
    scope_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> str:
        return self.queue.table.queue

    def _title(self, count: int) -> str:
        return with_number(self.title, count, queue=str(self.queue.title))

    def problems(self, causes: Sequence[Cause]) -> list[Problem]:
        """Return at most a few lines for any number of causes; the largest come first."""
        since = timezone.now() - RECENT
        recent = [cause for cause in causes if cause.last_at > since]
        older = [cause for cause in causes if cause.last_at <= since]
        others = _("%(causes)s other causes"), _("%(causes)s causes, none in 24 hours")
        return [
            *self._named(recent[:MOST_CAUSES], Severity.SERIOUS),
            *self._rest(recent[MOST_CAUSES:], ProblemKind.OTHER_FAILURES, others[0], Severity.SERIOUS),
            *self._rest(older, ProblemKind.OLD_FAILURES, others[1], Severity.WARNING),
        ]

    def _rest(self, causes: Sequence[Cause], kind: ProblemKind, text: str, severity: Severity) -> list[Problem]:
        if len(causes) <= 1:
            return self._named(causes, severity)
        count = sum(cause.total for cause in causes)
        return [
            Problem(
                part=self.part,
                kind=kind,
                severity=severity,
                title=self._title(count),
                cause=text % {"causes": len(causes)},
                count=count,
                since=min(cause.first_at for cause in causes),
                link=page_path(self.queue.model, "error_groups"),
                stands_for=[problem_key(self.part, ProblemKind.FAILURES, cause.name) for cause in causes],
            )
        ]

    def _named(self, causes: Sequence[Cause], severity: Severity) -> list[Problem]:
        if not causes:
            return []
        entries, may_act = self.queue.entries_of(causes), self.queue.may_act(self.reader)
        return [self._line(cause, entries[cause.name], severity, may_act=may_act) for cause in causes]

    def _line(self, cause: Cause, entry: ErrorEntry, severity: Severity, *, may_act: bool) -> Problem:
        model, filters = self.queue.model, {"group": cause.name}
        places = [
            Place(self.scope_names[scope], total, list_path(model, **filters, site=scope), scope=scope)
            for scope, total in cause.scopes
            if scope in self.scope_names
        ]
        scope = cause.scopes[0][0] if cause.scope_count == 1 else ""
        rows = FailedRows(self.queue, entry, cause.code, cause.state, filters, scope, cause.total)
        return Problem(
            part=self.part,
            kind=ProblemKind.FAILURES,
            name=cause.name,
            severity=severity,
            title=self._title(cause.total),
            code=cause.code,
            cause=Truncator(mask_personal_data(self._cause(cause, entry))).chars(LONGEST_CAUSE),
            advice=" ".join(entry.sentences()),
            count=cause.total,
            where=places,
            beyond=cause.scope_count - len(places) if places else 0,
            since=cause.first_at,
            link=list_path(model, **filters),
            action=group_action(rows, self.reader) if may_act else None,
        )

    def _cause(self, cause: Cause, entry: ErrorEntry) -> str:
        """Return the entry's words; of a code that the queue does not declare, the message says more if it is one."""
        if cause.code in self.queue.errors or not cause.shape or PLACES.search(cause.shape):
            return entry.label
        return f"{entry.label}: {explain(cause.shape)}"
