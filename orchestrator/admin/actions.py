"""Approve, retry and cancel in the console: each says what it will do, asks why, and reports what it did (CON-4)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lifecycle.console.actions import Action, Preview, ReasonForm, Report
from lifecycle.guard import MoveRefused
from lifecycle.refusals import Refusal
from orchestrator import decisions
from orchestrator.faults import PERMANENT_CODES
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet
from orchestrator.states import JOBS

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class DecisionForm(ReasonForm):
    """Asks why, and is content without an answer."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Let the reason stay empty."""
        super().__init__(*args, **options)
        self.fields["reason"].required = False


@dataclass(frozen=True, kw_only=True)
class JobAction(Action):
    """A decision, taken job by job."""

    table = JOBS

    form: type[ReasonForm] = DecisionForm
    decide: Callable[[UUID], Job]

    def eligible(self, jobs: JobQuerySet) -> JobQuerySet:
        """Return the jobs it applies to now; the verb itself asks again."""
        found = jobs.filter(status__in=self.sources)
        if self.verb == "retry":
            most = decisions.rules_in_force().retry_count_max
            return found.filter(retry_count__lt=most).exclude(error_code__in=PERMANENT_CODES)
        return found.filter(claim_token=None) if self.verb == "cancel" else found

    def preview(self, user: "User | AnonymousUser", ids: Sequence[UUID]) -> Preview:
        """Look at jobs as the decision would find them now."""
        jobs = Job.objects.filter(pk__in=ids)
        try:
            eligible = self.eligible(jobs)
        except Refusal as refusal:  # there are no rules to judge by
            return Preview(0, [str(refusal.detail)])
        others = Counter(jobs.exclude(pk__in=eligible.values("pk")).values_list("status", "error_code"))
        named = {f"{status} ({code})" if code else status: number for (status, code), number in sorted(others.items())}
        return self.foretell(len(ids), eligible.count(), named)

    def perform(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: dict[str, Any]) -> Report:
        """Decide on each job by itself, and say what was done."""
        moved, left = 0, Counter[str]()
        for pk in ids:
            try:
                self.decide(pk)
                moved += 1
            except Refusal as refusal:
                left[str(refusal.detail).rstrip(".") if len(ids) == 1 else str(refusal.code)] += 1
            except MoveRefused as refusal:
                left[f"it is {refusal.state}" if len(ids) == 1 else refusal.state] += 1
        told = [f"{number} not: {why}" if len(ids) > 1 else why for why, number in sorted(left.items())]
        return self.report(len(ids), moved, *told)


APPROVE = JobAction(
    "approve",
    title="Approve",
    done="Approved",
    effect="They go back to NEW and are checked again; what is still wrong holds them again.",
    decide=decisions.approve,
)
RETRY = JobAction(
    "retry",
    title="Retry",
    done="Scheduled a retry of",
    effect="They go back to NEW after a while, longer each time. Permanent errors are not retried.",
    decide=decisions.retry,
)
CANCEL = JobAction(
    "cancel",
    title="Cancel",
    done="Cancelled",
    effect="They end as FAILED with E_CANCELLED. Sheets in the import folder stay there.",
    decide=decisions.cancel,
    is_dangerous=True,
)
