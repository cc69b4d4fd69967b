"""The three actions of an operator: each says what it will do, asks why, and reports what it did (OCI-15, CON-4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.db import transaction
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from lifecycle.actor import acting, acting_as
from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.settling import settle
from ociqueue.states import CONVERSIONS, Category

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

MOST_ACTED_ON = 5_000


class ReasonForm(forms.Form):
    """Asks why; the timeline keeps the answer."""

    reason = forms.CharField(
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept in each row's timeline, with your name.",
    )

    def options(self) -> dict[str, Any]:
        """Return what the verb is given besides its rows."""
        return {}


class ResetForm(ReasonForm):
    """Asks also whether the error may be forgotten."""

    clear_errors = forms.BooleanField(
        required=False,
        label="Clear the error",
        widget=UnfoldBooleanWidget,
        help_text="Empties code, category and text; the timeline keeps them.",
    )

    def options(self) -> dict[str, Any]:
        """Return whether the error is cleared."""
        return {"clear_errors": self.cleaned_data["clear_errors"]}


class MarkFailedForm(ReasonForm):
    """Asks also for a code and a category, which have defaults."""

    code = forms.CharField(
        max_length=64,
        required=False,
        label="Error code",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "MANUAL_FAIL"}),
    )
    category = forms.ChoiceField(
        required=False,
        label="Error category",
        choices=[("", "PERMANENT, unless you choose another"), *((category, category) for category in Category.values)],
        widget=UnfoldAdminSelectWidget,
    )

    def options(self) -> dict[str, Any]:
        """Return what was filled in; the verb knows the rest."""
        return {name: self.cleaned_data[name] for name in ("code", "category", "reason") if self.cleaned_data[name]}


@dataclass(frozen=True)
class Action:
    """A verb of the table, in words for operators."""

    verb: str
    title: str
    done: str
    effect: str
    form: type[ReasonForm]
    is_dangerous: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The states it applies to."""
        return CONVERSIONS.moves[self.verb].sources

    @property
    def label(self) -> str:
        """The action and its reach."""
        *most, last = self.sources
        return f"{self.title} — {', '.join(most)} and {last} only"

    def apply(self, rows: ConversionQuerySet, options: dict[str, Any]) -> set[UUID]:
        """Call the verb of that name."""
        moved: set[UUID] = getattr(rows, self.verb)(**options)
        return moved


RETRY = Action(
    "retry_selected",
    title="Retry",
    done="Retried",
    effect="They go back to QUEUED with a fresh budget of attempts; the error stays on them.",
    form=ReasonForm,
)
RESET = Action(
    "reset_to_queued",
    title="Reset to queued",
    done="Reset",
    effect="They go back to QUEUED with a fresh budget of attempts. One that a script holds at this moment may be "
    "uploaded twice; Google counts it once.",
    form=ResetForm,
)
MARK_FAILED = Action(
    "mark_failed",
    title="Mark failed",
    done="Marked failed",
    effect="They go to FAILED and are not tried again, until somebody retries them.",
    form=MarkFailedForm,
    is_dangerous=True,
)
ACTIONS = {action.verb: action for action in (RETRY, RESET, MARK_FAILED)}


@dataclass(frozen=True)
class Preview:
    """What an action would do to the rows asked for."""

    asked: int
    eligible: int
    others: dict[str, int]
    beyond: int

    def sentences(self, action: Action) -> list[str]:
        """Say it."""
        told = [f"{action.title}: {self.eligible:,} of {self.asked:,} selected."]
        told += [action.effect] if self.eligible else []
        told += [f"{number:,} {_are(number)} {state} and will stay so." for state, number in self.others.items()]
        if self.beyond:
            told.append(f"{self.beyond:,} {_are(self.beyond)} not of a site you run, and will not be touched.")
        return told


def preview(user: "User | AnonymousUser", action: Action, ids: Sequence[UUID]) -> Preview:
    """Look at rows as an action would find them now."""
    mine = Conversion.objects.filter(pk__in=ids, site__in=Site.objects.run_by(user))
    states = Counter(mine.values_list("status", flat=True))
    eligible = sum(states.pop(state, 0) for state in action.sources)
    others = {state: states[state] for state in CONVERSIONS.states if states[state]}
    return Preview(len(ids), eligible, others, beyond=len(ids) - eligible - states.total())


def perform(
    user: "User | AnonymousUser", action: Action, ids: Sequence[UUID], *, reason: str, options: dict[str, Any]
) -> tuple[int, str]:
    """Act on rows of the sites a user runs, all or none; return how many moved, and what was done in words."""
    sites = {site.pk: site for site in Site.objects.run_by(user)}
    # Site by site in one order, so that two operators over the same rows wait for each other and never deadlock.
    rows = Conversion.objects.filter(pk__in=ids, site__in=list(sites)).order_by("site_id", "pk")
    moved, left = 0, Counter[str]()
    with acting_as(acting().actor, reason=reason), transaction.atomic():
        for site_id, pairs in groupby(rows.values_list("site_id", "pk"), key=lambda pair: pair[0]):
            outcome = settle(sites[site_id], [pk for _, pk in pairs], lambda mine: action.apply(mine, options))
            moved += outcome.moved
            left.update(status for _, status in outcome.left)
    told = [f"{number:,} {_were(number)} {state}" for state, number in sorted(left.items())]
    if beyond := len(ids) - moved - left.total():
        told.append(f"{beyond:,} {_are(beyond)} not of a site you run")
    return moved, "; ".join([f"{action.done} {moved:,} of {len(ids):,}", *told]) + "."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
