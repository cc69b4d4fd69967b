"""The table of a list: a line for each row, and headers that sort it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.utils import display_for_field, label_for_field, lookup_field
from django.contrib.admin.views.main import ORDER_VAR

# Left out where there is no room for them.
MINOR = {"amount", "attempts", "retries", "size", "took", "mode", "parts", "lasting"}
# The column that takes the room that the others leave: the first of these, or else the first of the list.
WIDE = ("error", "problem", "what", "alarms", "message", "note", "result", "path", "events", "filters")
CHECKBOX = "action_checkbox"
EMPTY = "-"
BLANK = ("", EMPTY, "0")  # not worth a word on a phone
CREATED = "id"  # ids sort by time: ages grow as they sink
OTHER_WAY = {"asc": "-", "desc": ""}
DIRECTIONS = {"asc": "ascending", "desc": "descending"}  # as aria-sort has them
TURNED = {"asc": "desc", "desc": "asc"}


@dataclass(frozen=True)
class Header:
    name: str
    label: str
    css: str = ""
    sort_href: str = ""
    direction: str = ""


@dataclass(frozen=True)
class Cell:
    css: str
    html: Any
    label: str = ""  # of a number, on a phone


@dataclass(frozen=True)
class TableRow:
    pk: str
    href: str
    first: Cell  # what people call the row
    others: list[Cell]


class Table:
    def __init__(self, changelist: Any) -> None:
        self.changelist = changelist
        self.columns = [column for column in changelist.list_display if column != CHECKBOX]
        self.names = [getattr(column, "__name__", column) for column in self.columns]
        self.is_selectable = CHECKBOX in changelist.list_display
        self.wide = next((name for name in WIDE if name in self.names), self.names[0])

    @property
    def headers(self) -> Iterator[Header]:
        changelist = self.changelist
        sorted_by = changelist.get_ordering_field_columns()
        for name, column in zip(self.names, self.columns, strict=True):
            label, css = self._label(column), f"column-{name}{self._extra_css(name)}"
            order, key = changelist.get_ordering_field(column), sort_key(changelist, column)
            if not (key and changelist.is_short) and (order is None or column not in changelist.sortable_by):
                yield Header(name, label, css)
                continue
            place = changelist.list_display.index(column)
            now = sorted_by.get(place, "")
            # The largest number first, and the first letter of the alphabet.
            sign = OTHER_WAY[now] if now else "-" if key else ""
            direction = TURNED.get(now, "") if order == CREATED else now
            href = changelist.get_query_string({ORDER_VAR: f"{sign}{place}"}, ["p"])
            yield Header(name, label, css, href, DIRECTIONS.get(direction, ""))

    @property
    def rows(self) -> Iterator[TableRow]:
        kept = f"?{self.changelist.preserved_filters}" if self.changelist.preserved_filters else ""
        numbers = [self._label(column) if sort_key(self.changelist, column) else "" for column in self.columns]
        css = [f"field-{name}{self._extra_css(name)}" for name in self.names]
        for row in self.changelist.result_list:
            first, *others = self._cells(row, css, numbers)
            # Some rows have no page.
            href = f"{self.changelist.url_for_result(row)}{kept}" if self.changelist.list_display_links else ""
            yield TableRow(str(row.pk), href, first, others)

    def _label(self, column: Any) -> str:
        return str(label_for_field(column, self.changelist.model, self.changelist.model_admin))

    def _extra_css(self, name: str) -> str:
        return f"{' kilit-minor' if name in MINOR else ''}{' kilit-rest' if name == self.wide else ''}"

    def _cells(self, row: Any, css: list[str], numbers: list[str]) -> Iterator[Cell]:
        for column, css_class, label in zip(self.columns, css, numbers, strict=True):
            field, _attribute, value = lookup_field(column, row, self.changelist.model_admin)
            value = display_for_field(value, field, EMPTY) if field else value
            yield Cell(f"{css_class}{' kilit-blank' if str(value) in BLANK else ''}", value, label)


def sort_key(changelist: Any, column: Any) -> Callable[[Any], Any] | None:
    """Return what rows are sorted by in memory; for a column that is named, its function is in the admin."""
    function = getattr(changelist.model_admin, column, None) if isinstance(column, str) else column
    return getattr(function, "sort_key", None)
