"""Failed jobs as problems: a line for each cause of the last day, one for all others, one for what is older."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.queues import Queue
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
    problem_key,
    with_number,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

RECENT = timedelta(days=1)
MOST_CAUSES = 6  # of the last day that get a line of their own
LONGEST_CAUSE = 200
FAILED = gettext_lazy("%(queue)s: %(number)s failed")


def causes_of(queue: Queue, *, scopes: list[str] | None = None) -> list[Cause]:
    """Return why a queue's jobs failed, without those that a person ended."""
    table = queue.table
    return ErrorGroup.objects.causes(
        queue=table.queue, states=table.of_kind(Kind.FAILED), scopes=scopes, without=table.by_hand.values()
    )


def explain_cause(cause: Cause) -> str:
    return explain(cause.shape)


def failures(
    queue: Queue,
    *,
    title: "StrOrPromise" = FAILED,
    explain: Callable[[Cause], str] = explain_cause,
    scope_names: Callable[[], Mapping[str, str]] = dict,
) -> ProblemSource:
    """Return what finds a queue's failures for a reader; a queue may give its own words."""

    def find(reader: Reader) -> list[Problem]:
        causes = causes_of(queue, scopes=queue.scopes_seen_by(reader))
        if not causes:
            return []
        may_act, names = queue.may_act(reader), scope_names()
        lines = FailureLines(queue=queue, title=title, may_act=may_act, explain=explain, scope_names=names)
        return lines.problems(causes)

    return ProblemSource(find, lambda: failures_of(queue.table.queue))


@dataclass(frozen=True, kw_only=True)
class FailureLines:
    """How a queue words its failures."""

    queue: Queue
    title: "StrOrPromise"  # “7,021 conversions failed”, by "count"
    may_act: bool  # the reader
    is_wrong_data: Callable[[Cause], bool] = lambda _cause: False  # correcting helps, and a retry would fail again
    explain: Callable[[Cause], str] = explain_cause
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
        lines = [self._named(cause, Severity.SERIOUS) for cause in recent[:MOST_CAUSES]]
        lines += self._rest(
            recent[MOST_CAUSES:], ProblemKind.OTHER_FAILURES, _("%(causes)s other causes"), Severity.SERIOUS
        )
        return lines + self._rest(
            older, ProblemKind.OLD_FAILURES, _("%(causes)s causes, none in 24 hours"), Severity.WARNING
        )

    def _rest(self, causes: Sequence[Cause], kind: ProblemKind, text: str, severity: Severity) -> list[Problem]:
        if len(causes) <= 1:
            return [self._named(cause, severity) for cause in causes]
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

    def _named(self, cause: Cause, severity: Severity) -> Problem:
        model, filters = self.queue.model, {"group": cause.name}
        places = [
            Place(self.scope_names[scope], total, list_path(model, **filters, site=scope), scope=scope)
            for scope, total in cause.scopes
            if scope in self.scope_names
        ]
        return Problem(
            part=self.part,
            kind=ProblemKind.FAILURES,
            name=cause.name,
            severity=severity,
            title=self._title(cause.total),
            cause=Truncator(mask_personal_data(self.explain(cause))).chars(LONGEST_CAUSE),
            code=cause.code,
            count=cause.total,
            where=places,
            beyond=cause.scope_count - len(places) if places else 0,
            since=cause.first_at,
            link=list_path(model, **filters),
            action=self._action(cause),
        )

    def _action(self, cause: Cause) -> ProblemAction | None:
        if not (self.may_act and self.queue.operation("retry").helps(cause.code)):
            return None
        model, filters = self.queue.model, {"group": cause.name}
        if self.is_wrong_data(cause):
            return ProblemAction(_("Review and correct"), list_path(model, status=cause.state, **filters))
        return ProblemAction(_("Review and retry"), page_path(model, "act_on_all", "retry", **filters))
