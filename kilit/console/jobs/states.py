"""The colours of a queue's states: those of their kind, unless a queue says otherwise."""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.safestring import SafeString

from kilit.console.formatting import badge
from kilit.lock.table import Kind, Lifecycle

COLOURS = {Kind.WAITING: "info", Kind.HELD: "primary", Kind.DONE: "success", Kind.FAILED: "danger"}


class States:
    def __init__(
        self,
        table: Lifecycle,
        *,
        colours: Mapping[Any, str] | None = None,
        way: Collection[str] = (),
    ) -> None:
        self.table = table
        self.labels = table.labels
        self.colours = {state: COLOURS[table.kinds[state]] for state in table.states} | {**(colours or {})}
        # The states from new to success, which the stepper shows.
        self.way = way or (*table.initial, *table.of_kind(Kind.HELD), table.of_kind(Kind.DONE)[0])

    def badge(self, state: str) -> SafeString:
        return badge(str(self.labels[state]), self.colours[state], title=state)
