"""Failed jobs as problems: a line for each cause of the last day, one for all others, one for what is older."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from kilit.console.machine_errors import explain
from kilit.lock.models.error_groups import Cause
from kilit.masking import mask_personal_data
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Place, Problem, ProblemAction, Severity, problem_key

RECENT = timedelta(days=1)
MOST_CAUSES = 3  # of the last day that get a line of their own
LONGEST_CAUSE = 90


@dataclass(frozen=True)
class FailureLines:
    """How a queue words and links its failures."""

    part: str
    title: Callable[[int], str]  # “7,021 conversions failed”
    list_of: Callable[[Mapping[str, str]], str]
    groups: str  # the page of error groups
    # The page that retries a cause; none for readers who may not, and for causes that a retry cannot help.
    retry_of: Callable[[Cause], str] = lambda _cause: ""
    is_wrong_data: Callable[[Cause], bool] = lambda _cause: False  # correcting helps, and a retry would fail again
    explain: Callable[[Cause], str] = lambda cause: " ".join(filter(None, (cause.code, explain(cause.shape))))
    scope_names: Mapping[str, str] = field(default_factory=dict)

    def problems(self, causes: Sequence[Cause], now: datetime) -> list[Problem]:
        """Return at most a few lines for any number of causes; the largest come first."""
        recent = [cause for cause in causes if cause.last_at > now - RECENT]
        older = [cause for cause in causes if cause.last_at <= now - RECENT]
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
                title=self.title(count),
                cause=text % {"causes": len(causes)},
                count=count,
                since=min(cause.first_at for cause in causes),
                link=self.groups,
                stands_for=[problem_key(self.part, ProblemKind.FAILURES, cause.name) for cause in causes],
            )
        ]

    def _named(self, cause: Cause, severity: Severity) -> Problem:
        filters = {"group": cause.name}
        places = [
            Place(self.scope_names[scope], total, self.list_of({**filters, "site": scope}), scope=scope)
            for scope, total in cause.scopes
            if scope in self.scope_names
        ]
        return Problem(
            part=self.part,
            kind=ProblemKind.FAILURES,
            name=cause.name,
            severity=severity,
            title=self.title(cause.total),
            cause=Truncator(mask_personal_data(self.explain(cause))).chars(LONGEST_CAUSE),
            count=cause.total,
            where=places,
            beyond=cause.scope_count - len(places) if places else 0,
            since=cause.first_at,
            link=self.list_of(filters),
            action=self._action(cause),
        )

    def _action(self, cause: Cause) -> ProblemAction | None:
        retry = self.retry_of(cause)
        if retry and self.is_wrong_data(cause):
            return ProblemAction(_("Review and correct"), self.list_of({"status": cause.state, "group": cause.name}))
        return ProblemAction(_("Review and retry"), retry) if retry else None
