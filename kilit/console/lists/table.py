"""A list as a table. Unfold's own cells carry 700 bytes of classes each; these have a name, and a style sheet."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.utils import display_for_field, label_for_field, lookup_field
from django.contrib.admin.views.main import ORDER_VAR
from django.utils.html import format_html

# Left out where there is no room for them.
MINOR = {"amount", "attempts", "retries", "size", "took", "mode", "parts", "lasting"}
CHECKBOX = "action_checkbox"
STATE = "state"


@dataclass(frozen=True)
class Header:
    name: str
    label: str
    sort_href: str = ""
    direction: str = ""  # as aria-sort has it

    @property
    def css(self) -> str:
        return f"column-{self.name}{' kilit-minor' if self.name in MINOR else ''}"


@dataclass(frozen=True)
class Cell:
    name: str
    html: Any

    @property
    def css(self) -> str:
        extra = " kilit-minor" if self.name in MINOR else " kilit-blank" if self.html in ("", "-") else ""
        return f"field-{self.name}{extra}"


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
        description = getattr(changelist.model_admin, "description", None)
        self.labels = description.state_labels if description else {}

    @property
    def headers(self) -> Iterator[Header]:
        changelist = self.changelist
        sorted_by = changelist.get_ordering_field_columns()
        for name, column in zip(self.names, self.columns, strict=True):
            label = str(label_for_field(column, changelist.model, changelist.model_admin))
            if not getattr(column, "admin_order_field", None):
                yield Header(name, label)
                continue
            place = changelist.list_display.index(column)
            now = sorted_by.get(place, "desc")
            turned = {ORDER_VAR: place if now == "desc" else f"-{place}"}
            # Ages grow as times sink.
            direction = "ascending" if now == "desc" else "descending"
            yield Header(name, label, changelist.get_query_string(turned, ["p"]), direction)

    @property
    def rows(self) -> Iterator[TableRow]:
        kept = f"?{self.changelist.preserved_filters}" if self.changelist.preserved_filters else ""
        for row in self.changelist.result_list:
            first, *others = self._cells(row)
            yield TableRow(str(row.pk), f"{self.changelist.url_for_result(row)}{kept}", first, others)

    def _cells(self, row: Any) -> Iterator[Cell]:
        for name, column in zip(self.names, self.columns, strict=True):
            field, _attribute, value = lookup_field(column, row, self.changelist.model_admin)
            value = display_for_field(value, field, "-") if field else value
            yield Cell(name, self._with_label(value, row) if name == STATE else value)

    def _with_label(self, badge: Any, row: Any) -> Any:
        """Return a state of the API with what people call it."""
        label = self.labels.get(row.status, "")
        if not label or str(label).lower() == row.status.lower():
            return badge
        return format_html('{}<small class="kilit-second">{}</small>', badge, label)
