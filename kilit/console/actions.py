"""What an operator can do with rows: a verb of the table that says what it will do, asks why, and reports."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext
from unfold.widgets import UnfoldAdminTextareaWidget

from kilit.bulk.queues import NotNow, Outcome
from kilit.console.formatting import number as grouped
from kilit.lock.guard import LifecycleModel
from kilit.lock.table import Lifecycle

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User
    from django_stubs_ext import StrOrPromise


class ReasonForm(forms.Form):
    """Asks why; the timeline keeps the answer."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Kept in each row's timeline, with your name."),
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
    model: ClassVar[type[LifecycleModel]]
    scope: ClassVar[str] = ""  # the column that says to whom a row belongs
    beyond: ClassVar[str] = gettext_noop("not there")  # what a row is that nobody finds

    name: str  # in addresses and forms
    verb: str  # in the table
    _: KW_ONLY
    title: "StrOrPromise"
    done: "StrOrPromise"
    effect: "StrOrPromise"
    icon: str
    form: type[ReasonForm] = ReasonForm
    is_dangerous: bool = False
    batch: int = 500  # rows that a bulk action takes in one transaction

    # What each queue says

    def within_reach(self, rows: Any, user: "User | AnonymousUser") -> Any:
        """Keep the rows that a user may act on."""
        return rows

    def judged(self, rows: Any) -> Any:
        """Annotate rows with a `verdict`: the state, and why the action leaves it alone where the state would not."""
        return rows.annotate(verdict=F("status"))

    @abstractmethod
    def apply(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: Mapping[str, Any]) -> Outcome:
        """Act on rows; the verb itself asks again which rows it applies to."""

    # What is the same for all

    def preview(self, user: "User | AnonymousUser", ids: Sequence[UUID]) -> Preview:
        """Look at rows as the action would find them now."""
        rows = self.within_reach(self.model._default_manager.filter(pk__in=ids), user)
        try:
            verdicts = Counter(self.judged(rows).values_list("verdict", flat=True))
        except NotNow as why:
            return Preview(0, [str(why)])
        eligible = sum(verdicts[state] for state in self.sources)
        first = gettext("%(title)s: %(eligible)s of %(asked)s selected.")
        told = [first % {"title": self.title, "eligible": grouped(eligible), "asked": grouped(len(ids))}]
        told += [str(self.effect)] if eligible else []
        told += self.staying(verdicts)
        if beyond := len(ids) - verdicts.total():
            told.append(self.untouched(beyond))
        return Preview(eligible, told)

    def perform(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: Mapping[str, Any]) -> Report:
        """Act on rows, and say what was done."""
        try:
            outcome = self.apply(user, ids, options)
        except NotNow as why:
            return Report(str(why), messages.ERROR)
        told = left_as(Counter(outcome.left.values()))
        if len(ids) == 1 and outcome.sentences:
            told = [sentence.rstrip(".") for sentence in outcome.sentences.values()]
        if beyond := len(ids) - len(outcome.moved) - len(outcome.left):
            told.append(self.not_found(beyond))
        return self.report(len(ids), len(outcome.moved), *told)

    @property
    def sources(self) -> tuple[str, ...]:
        return self.table.moves[self.verb].sources

    @property
    def path(self) -> str:
        return self.name.replace("_", "-")

    @property
    def label(self) -> str:
        return gettext("%(title)s — %(states)s only") % {"title": self.title, "states": in_words(self.sources)}

    def staying(self, verdicts: Mapping[str, int]) -> list[str]:
        """Say of which rows nothing will be changed, in the order of the table."""
        others = {verdict: number for verdict, number in verdicts.items() if number and verdict not in self.sources}
        order = {state: place for place, state in enumerate(self.table.states)}
        found = sorted(others.items(), key=lambda other: (order.get(other[0].split(" ", 1)[0], 0), other[0]))
        return [
            ngettext("%(number)s is %(state)s and will stay so.", "%(number)s are %(state)s and will stay so.", number)
            % {"number": grouped(number), "state": spoken(verdict)}
            for verdict, number in found
        ]

    def untouched(self, number: int) -> str:
        """Say how many rows this user will not touch."""
        return gettext("%(these)s, and will not be touched.") % {"these": self.not_found(number)}

    def not_found(self, number: int) -> str:
        """Say how many rows there are not, for this user."""
        words = ngettext("%(number)s is %(what)s", "%(number)s are %(what)s", number)
        return words % {"number": grouped(number), "what": gettext(self.beyond)}

    def report(self, asked: int, moved: int, *more: str) -> Report:
        """Say how many rows were moved, and what else there is to say."""
        first = gettext("%(done)s %(moved)s of %(asked)s")
        sentence = (
            "; ".join([first % {"done": self.done, "moved": grouped(moved), "asked": grouped(asked)}, *more]) + "."
        )
        return Report(sentence, messages.SUCCESS if moved else messages.WARNING)


class ActionAtOnce(Action):
    """A verb that moves all its rows by one statement."""

    @abstractmethod
    def move(self, rows: Any, options: Mapping[str, Any]) -> set[UUID]:
        """Move those rows that the verb applies to."""

    def apply(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: Mapping[str, Any]) -> Outcome:
        """Act on rows, all or none; the verb itself asks again which rows it applies to."""
        with transaction.atomic():
            rows = self.within_reach(self.model._default_manager.filter(pk__in=ids), user)
            moved = self.move(rows, options)
            left = self.judged(rows.exclude(pk__in=moved)).values_list("pk", "verdict")
            return Outcome(moved, dict(left))


def left_as(verdicts: Mapping[str, int]) -> list[str]:
    """Say which states kept rows from being moved."""
    return [
        ngettext("%(number)s was %(state)s", "%(number)s were %(state)s", number)
        % {"number": grouped(number), "state": spoken(verdict)}
        for verdict, number in sorted(verdicts.items())
    ]


def spoken(verdict: str) -> str:
    """Return a verdict in the reader's language: a state, which is a word of the API, and why the row stays in it."""
    state, _space, why = verdict.partition(" ")
    return f"{state} {gettext(why)}" if why else state


def in_words(states: Sequence[str]) -> str:
    """Return states as a list that can be read."""
    *most, last = states
    return gettext("%(most)s and %(last)s") % {"most": ", ".join(most), "last": last} if most else last
