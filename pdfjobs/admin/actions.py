"""The two actions of an operator: each says what it will do, asks why, and reports what it did (CON-4)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from lifecycle.actor import acting, acting_as
from lifecycle.workers import bells
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import PDF_JOBS, Status

MOST_ACTED_ON = 500


class ReasonForm(forms.Form):
    """Asks why; the timeline keeps the answer."""

    reason = forms.CharField(
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept in each job's timeline, with your name.",
    )


@dataclass(frozen=True)
class Action:
    """A verb of the table, in words for operators."""

    verb: str
    title: str
    done: str
    effect: str
    apply: Callable[[PdfJobQuerySet], set[UUID]]
    is_dangerous: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The states it applies to."""
        return PDF_JOBS.moves[self.verb].sources

    @property
    def label(self) -> str:
        """The action and its reach."""
        *most, last = self.sources
        reach = f"{', '.join(most)} and {last}" if most else last
        return f"{self.title} — {reach} only"


def retry(rows: PdfJobQuerySet) -> set[UUID]:
    """Queue failed jobs again, and call a worker."""
    moved = rows.retry_selected()
    bells.ring(PDF_JOBS.queue)
    return moved


RETRY = Action(
    "retry_selected",
    title="Retry",
    done="Retried",
    effect="They wait for a worker again, with two retries in hand. One whose document was asked for anew meanwhile "
    "stays as it is.",
    apply=retry,
)
EXPIRE = Action(
    "expire",
    title="Expire",
    done="Expired",
    effect="Their files and variables are deleted for good. Asking for the same document makes a new job.",
    apply=cleanup.expire,
    is_dangerous=True,
)
ACTIONS = {action.verb: action for action in (RETRY, EXPIRE)}


@dataclass(frozen=True)
class Preview:
    """What an action would do to the rows asked for."""

    asked: int
    eligible: int
    others: dict[str, int]

    def sentences(self, action: Action) -> list[str]:
        """Say it."""
        told = [f"{action.title}: {self.eligible:,} of {self.asked:,} selected."]
        told += [action.effect] if self.eligible else []
        return told + [
            f"{number:,} {'is' if number == 1 else 'are'} {state} and will stay so."
            for state, number in self.others.items()
        ]


def preview(action: Action, ids: Sequence[UUID]) -> Preview:
    """Look at rows as an action would find them now."""
    states = Counter(PdfJob.objects.filter(pk__in=ids).values_list("status", flat=True))
    eligible = sum(states.pop(state, 0) for state in action.sources)
    return Preview(len(ids), eligible, {state: states[state] for state in PDF_JOBS.states if states[state]})


def perform(action: Action, ids: Sequence[UUID], *, reason: str) -> tuple[int, str]:
    """Act on rows; return how many moved, and what was done in words."""
    rows = PdfJob.objects.filter(pk__in=ids)
    with acting_as(acting().actor, reason=reason):
        moved = action.apply(rows)
    left = Counter(rows.exclude(pk__in=moved).values_list("status", flat=True))
    told = [f"{number:,} {'was' if number == 1 else 'were'} {state}" for state, number in sorted(left.items())]
    if action is RETRY and left[Status.FAILED]:
        told[-1] += " and asked for anew meanwhile"
    return len(moved), "; ".join([f"{action.done} {len(moved):,} of {len(ids):,}", *told]) + "."
