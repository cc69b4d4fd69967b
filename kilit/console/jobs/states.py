"""Badges of a job: its state in the colour of its kind, unless a queue says otherwise, and its priority."""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from kilit.console.formatting import badge
from kilit.lock.priorities import Priority
from kilit.lock.table import Kind, Lifecycle

COLOURS = {Kind.WAITING: "info", Kind.HELD: "primary", Kind.DONE: "success", Kind.FAILED: "danger"}
PRIORITY_COLOURS = {Priority.LOW: "", Priority.HIGH: "warning", Priority.URGENT: "danger"}


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

    def cell(self, row: Any) -> SafeString:
        state, priority = self.badge(row.status), priority_badge(row)
        return format_html("{} {}", state, priority) if priority else state


def priority_badge(row: Any) -> SafeString | str:
    """Return the priority of a job as a badge; a normal one is not worth a word."""
    priority = getattr(row, "priority", Priority.NORMAL)
    if priority == Priority.NORMAL:
        return ""
    return badge(str(Priority(priority).label), PRIORITY_COLOURS[priority], title=_("Priority"))
