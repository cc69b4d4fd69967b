"""What people call a queue's states, and their colours: those of their kind, unless a queue says otherwise."""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kilit.console.formatting import code_badge
from kilit.lock.table import Kind, Lifecycle

COLOURS = {Kind.WAITING: "info", Kind.HELD: "primary", Kind.DONE: "success", Kind.FAILED: "danger"}
LABELS = {Kind.WAITING: _("Waiting"), Kind.HELD: "", Kind.DONE: _("Done"), Kind.FAILED: _("Failed")}


class States:
    def __init__(
        self,
        table: Lifecycle,
        *,
        labels: Mapping[Any, StrOrPromise] | None = None,
        colours: Mapping[Any, str] | None = None,
        way: Collection[str] = (),
    ) -> None:
        self.table = table
        self.labels = {state: LABELS[table.kinds[state]] for state in table.states} | {**(labels or {})}
        self.colours = {state: COLOURS[table.kinds[state]] for state in table.states} | {**(colours or {})}
        # The states from new to success, which the stepper shows.
        self.way = way or (*table.initial, *table.of_kind(Kind.HELD), table.of_kind(Kind.DONE)[0])

    def badge(self, state: str) -> SafeString:
        return code_badge(state, self.colours[state])
