"""Approve, retry and cancel in the console: each says what it will do, asks why, and reports what it did (CON-4)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from lifecycle.actor import acting, acting_as
from lifecycle.guard import MoveRefused
from lifecycle.refusals import Refusal
from orchestrator import decisions
from orchestrator.faults import PERMANENT_CODES
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet
from orchestrator.states import JOBS

MOST_ACTED_ON = 500


class ReasonForm(forms.Form):
    """Asks why; the timeline keeps the answer."""

    reason = forms.CharField(
        max_length=1000,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept in the job's timeline, with your name.",
    )


@dataclass(frozen=True)
class Action:
    """A verb of the table, in words for operators."""

    verb: str
    title: str
    done: str
    effect: str
    decide: Callable[[UUID], Job]
    is_dangerous: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The states it applies to."""
        return JOBS.moves[self.verb].sources

    @property
    def label(self) -> str:
        """The action and its reach."""
        *most, last = self.sources
        reach = f"{', '.join(most)} and {last}" if most else last
        return f"{self.title} — {reach} only"

    def eligible(self, jobs: JobQuerySet) -> JobQuerySet:
        """Return the jobs it applies to now; the verb itself asks again."""
        found = jobs.filter(status__in=self.sources)
        if self.verb == "retry":
            most = decisions.rules_in_force().retry_count_max
            return found.filter(retry_count__lt=most).exclude(error_code__in=PERMANENT_CODES)
        return found.filter(claim_token=None) if self.verb == "cancel" else found


APPROVE = Action(
    "approve",
    title="Approve",
    done="Approved",
    effect="They go back to NEW and are checked again; what is still wrong holds them again.",
    decide=decisions.approve,
)
RETRY = Action(
    "retry",
    title="Retry",
    done="Scheduled a retry of",
    effect="They go back to NEW after a while, longer each time. Permanent errors are not retried.",
    decide=decisions.retry,
)
CANCEL = Action(
    "cancel",
    title="Cancel",
    done="Cancelled",
    effect="They end as FAILED with E_CANCELLED. Sheets in the import folder stay there.",
    decide=decisions.cancel,
    is_dangerous=True,
)
ACTIONS = {action.verb: action for action in (APPROVE, RETRY, CANCEL)}


def preview(action: Action, ids: Sequence[UUID]) -> tuple[int, list[str]]:
    """Return how many jobs an action would take now, and say it."""
    jobs = Job.objects.filter(pk__in=ids)
    eligible = action.eligible(jobs).count()
    others = Counter(jobs.exclude(pk__in=action.eligible(jobs).values("pk")).values_list("status", "error_code"))
    told = [f"{action.title}: {eligible} of {len(ids)} selected."]
    told += [action.effect] if eligible else []
    for (status, code), number in sorted(others.items()):
        why = f"{status} ({code})" if code else status
        told.append(f"{number} {'is' if number == 1 else 'are'} {why} and will stay so.")
    return eligible, told


def perform(action: Action, ids: Sequence[UUID], *, reason: str) -> tuple[int, str]:
    """Act on each job by itself; return how many moved, and what was done in words."""
    moved, left = 0, Counter[str]()
    with acting_as(acting().actor, reason=reason):
        for pk in ids:
            try:
                action.decide(pk)
                moved += 1
            except Refusal as refusal:
                left[str(refusal.detail) if len(ids) == 1 else str(refusal.code)] += 1
            except MoveRefused as refusal:
                left[f"it is {refusal.state}" if len(ids) == 1 else refusal.state] += 1
    told = [f"{number} not: {why}" if len(ids) > 1 else why for why, number in sorted(left.items())]
    return moved, "; ".join([f"{action.done} {moved} of {len(ids)}", *told]).rstrip(".") + "."
