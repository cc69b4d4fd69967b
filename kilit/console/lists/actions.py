"""An operation in the console: it says what it will do, asks for a reason, and reports what it did."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.batches.operations import Operation, OperationUnavailable, Skip
from kilit.batches.queues import queues
from kilit.console.formatting import counted
from kilit.console.formatting import number as grouped
from kilit.console.lists.confirming import ReasonForm
from kilit.lock.audit import person_of
from kilit.lock.models import Event
from kilit.machine_errors import explain
from kilit.masking import mask_personal_data
from kilit.spans import ago


@dataclass(frozen=True)
class ActionReport:
    sentence: str
    level: int


@dataclass(frozen=True)
class Action:
    """A button for the rows that are ticked, for all that match, and on a row's page; Django calls it for the first."""

    operation: Operation
    _: KW_ONLY
    title: StrOrPromise
    done: StrOrPromise
    effect: StrOrPromise
    asks: StrOrPromise = ""  # what the confirmation asks, instead of “Retry: 3 jobs?”
    # By state: what to know before it is done to rows in it, with a place for their %(number)s.
    cautions: Mapping[object, StrOrPromise] = field(default_factory=dict)
    form: type[ReasonForm] = ReasonForm
    is_dangerous: bool = False
    is_done_at_once: bool = False  # on one row: without a confirmation, and the reason may be left out
    undo: str = ""  # the verb that takes it back, on one row
    back_label: StrOrPromise = ""  # of the button that changes nothing; "Cancel" otherwise

    allowed_permissions = ("operate",)
    do_not_call_in_templates = True

    def __call__(self, model_admin: ModelAdmin, request: HttpRequest, rows: Any) -> HttpResponse | None:
        response: HttpResponse | None = model_admin.confirm_selected(request, self, rows)
        return response

    @property
    def name(self) -> str:
        return self.operation.name

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def verb(self) -> str:
        return self.operation.verb

    @property
    def sources(self) -> tuple[str, ...]:
        return self.operation.sources

    @property
    def path(self) -> str:
        return self.name.replace("_", "-")

    @property
    def short_description(self) -> str:
        states = self.operation.table.words(self.sources)
        return gettext("%(title)s — only: %(states)s") % {"title": self.title, "states": states}

    @property
    def confirm_context(self) -> dict[str, Any]:
        return {"reasons_for": self.verb, "is_dangerous": self.is_dangerous, "back_label": self.back_label}

    def form_for(self, ids: Sequence[UUID], data: Any = None) -> ReasonForm:
        form = self.form(data)
        form.fields["reason"].required = not (self.is_done_at_once and len(ids) == 1)
        return form

    def applies_to(self, row: Any) -> bool:
        """Return whether it would change this row, as far as can be known before."""
        if row.status not in self.sources or row.status == self.operation.table.moves[self.verb].target:
            return False
        try:
            skips = self.operation.skips(self.operation.model._default_manager.filter(pk=row.pk))
        except OperationUnavailable:
            return False
        return skips.get(row.pk) == Skip(row.status)

    def question(self, number: int) -> str:
        if self.asks:
            return str(self.asks)
        return gettext("%(title)s: %(rows)s?") % {"title": self.title, "rows": counted(number, self.operation.model)}

    def preview(self, user: User | AnonymousUser, ids: Sequence[UUID]) -> tuple[int, list[str]]:
        """Return how many rows it would change, and sentences about all of them."""
        operation = self.operation
        rows = operation.within_reach(operation.model._default_manager.filter(pk__in=ids), user)
        try:
            counts = Counter(operation.skips(rows).values())
        except OperationUnavailable as why:
            return 0, [explain(str(why))]
        eligible = sum(counts[Skip(state)] for state in self.sources)
        sentences = self.effects({state: counts[Skip(state)] for state in self.sources})
        if eligible < len(ids):
            first = gettext("%(title)s: %(eligible)s of %(asked)s selected.")
            numbers = {"title": self.title, "eligible": grouped(eligible), "asked": grouped(len(ids))}
            sentences.insert(0, first % numbers)
        sentences += self.unchanged(counts)
        if unreachable := len(ids) - counts.total():
            sentences.append(gettext("%(these)s and will not change.") % {"these": self.out_of_reach(unreachable)})
        return eligible, sentences

    def perform(self, user: User | AnonymousUser, ids: Sequence[UUID], options: Mapping[str, Any]) -> ActionReport:
        try:
            result = self.operation.apply(user, ids, options)
        except OperationUnavailable as why:
            return ActionReport(explain(str(why)), messages.ERROR)
        more = self.skipped_text(Counter(result.skipped.values()))
        if len(ids) == 1 and result.messages:
            more = [message.rstrip(".") for message in result.messages.values()]
        if unreachable := len(ids) - len(result.moved) - len(result.skipped):
            more.append(self.out_of_reach(unreachable))
        elif len(ids) == 1 and not result.moved:
            more += who_was_first(ids[0])
        return self.report(len(ids), len(result.moved), *more)

    def effects(self, eligible: Mapping[str, int]) -> list[str]:
        said = [
            str(self.cautions[state]) % {"number": grouped(number)}
            for state, number in eligible.items()
            if number and state in self.cautions
        ]
        return [str(self.effect), *said] if any(eligible.values()) else []

    def unchanged(self, counts: Mapping[Skip, int]) -> list[str]:
        """Say which rows will not change, in the order of the table."""
        order = {state: place for place, state in enumerate(self.operation.table.states)}
        others = [skip for skip in counts if counts[skip] and (skip.reason or skip.state not in self.sources)]
        return [
            gettext("Will not change: %(number)s (%(state)s).") % {"number": grouped(n), "state": self.skip_text(skip)}
            for skip in sorted(others, key=lambda skip: (order.get(skip.state, 0), skip.reason))
            for n in [counts[skip]]
        ]

    def skipped_text(self, skips: Mapping[Skip, int]) -> list[str]:
        return [
            gettext("not changed: %(number)s (%(state)s)") % {"number": grouped(number), "state": self.skip_text(skip)}
            for skip, number in sorted(skips.items())
        ]

    def skip_text(self, skip: Skip) -> str:
        words = queues[self.operation.table.queue].words(skip.reason)
        reason = mask_personal_data(words or gettext(skip.reason)) if skip.reason else ""
        return ": ".join(filter(None, (str(self.operation.table.labels.get(skip.state, "")), reason)))

    def out_of_reach(self, number: int) -> str:
        text = ngettext("%(number)s is %(what)s", "%(number)s are %(what)s", number)
        return text % {"number": grouped(number), "what": gettext(self.operation.out_of_reach)}

    def report(self, asked: int, moved: int, *more: str) -> ActionReport:
        numbers = {"done": self.done, "moved": grouped(moved), "asked": grouped(asked)}
        sentence = "; ".join([gettext("%(done)s %(moved)s of %(asked)s") % numbers, *more])
        return ActionReport(f"{sentence}.", messages.SUCCESS if moved else messages.WARNING)


def who_was_first(pk: UUID) -> list[str]:
    """Tell the second of two people who act on a row about the first."""
    last = Event.objects.filter(object_id=pk).order_by("-id").first()
    if last is None or not person_of(last.actor):
        return []
    return [gettext("%(who)s changed it %(ago)s") % {"who": person_of(last.actor), "ago": ago(last.created_at)}]
