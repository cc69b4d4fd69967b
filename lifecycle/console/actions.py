"""What an operator can do with rows: a verb of the table that says what it will do, asks why, and reports (CON-4)."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from unfold.widgets import UnfoldAdminTextareaWidget

from lifecycle.table import Lifecycle

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


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


@dataclass(frozen=True)
class Preview:
    """What an action would do to the rows asked for, in sentences."""

    eligible: int
    sentences: list[str]


@dataclass(frozen=True)
class Report:
    """What an action did, in a sentence, and how good that is."""

    sentence: str
    level: int


@dataclass(frozen=True)
class Action(ABC):
    """A verb of the table, in words for operators; each queue says which rows it finds, and how it is done."""

    table: ClassVar[Lifecycle]

    verb: str
    _: KW_ONLY
    title: str
    done: str
    effect: str
    form: type[ReasonForm] = ReasonForm
    is_dangerous: bool = False

    @abstractmethod
    def preview(self, user: "User | AnonymousUser", ids: Sequence[UUID]) -> Preview:
        """Look at rows as the action would find them now."""

    @abstractmethod
    def perform(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: dict[str, Any]) -> Report:
        """Act on rows, and say what was done; the verb itself asks again which rows it applies to."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The states it applies to."""
        return self.table.moves[self.verb].sources

    @property
    def label(self) -> str:
        """The action and its reach."""
        *most, last = self.sources
        reach = f"{', '.join(most)} and {last}" if most else last
        return f"{self.title} — {reach} only"

    def foretell(self, asked: int, eligible: int, others: Mapping[str, int], *more: str) -> Preview:
        """Say how many rows it would move, and what the others are."""
        told = [f"{self.title}: {eligible:,} of {asked:,} selected."]
        told += [self.effect] if eligible else []
        told += [f"{number:,} {are(number)} {state} and will stay so." for state, number in others.items()]
        return Preview(eligible, [*told, *more])

    def foretell_by_state(self, asked: int, states: Counter[str], *more: str) -> Preview:
        """Say it of rows of which nothing but the state decides."""
        eligible = sum(states[state] for state in self.sources)
        others = {state: states[state] for state in self.table.states if states[state] and state not in self.sources}
        return self.foretell(asked, eligible, others, *more)

    def report(self, asked: int, moved: int, *more: str) -> Report:
        """Say how many rows were moved, and what else there is to say."""
        sentence = "; ".join([f"{self.done} {moved:,} of {asked:,}", *more]) + "."
        return Report(sentence, messages.SUCCESS if moved else messages.WARNING)


def left_as(states: Counter[str]) -> list[str]:
    """Say which states kept rows from being moved."""
    return [f"{number:,} {'was' if number == 1 else 'were'} {state}" for state, number in sorted(states.items())]


def are(number: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if number == 1 else "are"
