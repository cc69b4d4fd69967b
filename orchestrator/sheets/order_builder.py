"""Collects an order from a sheet: its fields and their cells, where values come from, and the faults."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.csv.numbers import AMBIGUOUS, read_number
from orchestrator.schemas.orders import MOST_PARTS, phone
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.grid import CellError, Grid, Unreadable, Value, coordinate
from orchestrator.sheets.head import Head, HeadValue, shown
from orchestrator.sheets.headings import fold
from orchestrator.sheets.sheet_order import CellFault, Origin, SheetDefaults, Source

UNIT = re.compile(r"\s*[cm]m$", re.IGNORECASE)
MOST_SOURCES, LONGEST_SHOWN = 200, 200
WHOLE = ("quantity", "grain")
TOTALS = frozenset(["toplam", "total", "genel toplam", "ara toplam"])


class OrderBuilder:
    def __init__(self, grid: Grid, head: Head, rules: Rules, defaults: SheetDefaults) -> None:
        self.grid, self.head, self.rules, self.defaults = grid, head, rules, defaults
        self.parts: list[dict[str, Any]] = []
        self.rows, self.is_cut_short = sorted(grid.rows), False
        self._accounted: Counter[int] = Counter()  # rows that are parts, or shown as not read
        self.order: dict[str, Any] = {"parts": self.parts}
        self.cells: dict[str, str] = {}
        self.faults: list[CellFault] = []
        self._sources: dict[Source, None] = {}
        self._missing: dict[str, list[CellFault]] = {}

    @property
    def sources(self) -> list[Source]:
        return list(self._sources)

    @property
    def path(self) -> str:
        return f"parts.{len(self.parts)}"

    def fault(self, cell: str, field: str, message: str) -> None:
        self.faults.append(CellFault(cell, field, message))

    def source(self, field: str, value: object, origin: Origin, cell: str = "", note: str = "") -> None:
        # Of these there may be one for each row.
        if field not in ("not read", "thickness_mm") or len(self._sources) < MOST_SOURCES:
            self._sources[Source(field, shown(value)[:LONGEST_SHOWN], origin, cell, note)] = None

    def at(self, row: int, column: int, *, across: bool = False) -> tuple[Value | None, str]:
        """Return the value that counts for a cell, and where it stands."""
        place = self.grid.place(row, column, across=across)
        return self.grid.find(*place), coordinate(*place)

    def is_total(self, row: int) -> bool:
        texts = [fold(value) for value in self.grid.rows[row].values() if isinstance(value, str)]
        return not TOTALS.isdisjoint(texts)

    def is_full(self, cell: str) -> bool:
        """Return whether an order cannot have another part, and say so at its cell."""
        if len(self.parts) < MOST_PARTS:
            return False
        self.fault(cell, "parts", _("More than %(most)s parts. Split the order.") % {"most": f"{MOST_PARTS:,}"})
        self.is_cut_short = True
        return True

    def skip(self, row: int, column: int = 0, note: str = "") -> None:
        """Show that a row was not read, at its first cell or at the one that is why."""
        cells = self.grid.rows[row]
        column = column or min(cells, default=1)
        value = "" if note else cells.get(column)
        self.source("not read", value if isinstance(value, str) else "", Origin.CELL, coordinate(row, column), note)
        self._accounted[row] += 1

    def add(self, part: dict[str, Any], row: int) -> None:
        self.parts.append(part)
        self._accounted[row] += 1

    def settle_rows(self, first: int) -> None:
        """Report each row, from the first on, that is not one part and is not shown as left out either."""
        for row in self.rows:
            if row >= first and self._accounted[row] != 1 and not self.is_cut_short:
                self.fault(coordinate(row, 1), "parts", _("This row was not read as one part."))

    def put(self, part: dict[str, object], name: str, value: object, cell: str) -> None:
        part[name] = value
        self.cells[f"{self.path}.{name}"] = cell

    def reject(self, part: dict[str, object], name: str, value: Value, cell: str, message: str) -> None:
        text = value.text if isinstance(value, Unreadable) else shown(value)
        self.put(part, name, text, cell)
        self.fault(cell, f"{self.path}.{name}", message)

    def number(self, part: dict[str, object], name: str, row: int, column: int, *, unit: str = "") -> None:
        """Read a number; a size is in millimetres or centimetres, and becomes centimetres."""
        value, cell = self.at(row, column)
        if value is None:
            self.miss(name, cell, _("This cell is empty."))
            return
        try:
            number = as_number(value, unit) / (10 if unit == "mm" else 1)
            self.put(part, name, int(number) if name in WHOLE and number == int(number) else number, cell)
        except ValueError as error:
            self.reject(part, name, value, cell, str(error))

    def text(self, part: dict[str, object], name: str, row: int, column: int) -> None:
        value, cell = self.at(row, column)
        if isinstance(value, Unreadable):
            self.reject(part, name, value, cell, value.message)
        elif value is not None:
            self.put(part, name, shown(value), cell)

    def inherit(self, part: dict[str, object], name: str, cell: str, hint: str) -> None:
        """Take what the part does not say from the head, else from the caller."""
        head, default = self.head.find(name), getattr(self.defaults, name)
        if head and not head.fault:
            self.put(part, name, head.value, head.cell)
            self.source(name, head.value, Origin.CELL, head.cell)
        elif head:
            self.miss(name, head.cell, head.fault)
        elif default not in (None, ""):
            part[name] = default
            self.source(name, default, Origin.CALLER)
        else:
            self.miss(name, cell, hint)

    def miss(self, name: str, cell: str, message: str) -> None:
        self._missing.setdefault(name, []).append(CellFault(cell, f"{self.path}.{name}", message))

    def settle_missing(self) -> None:
        """Report what is missing: at each cell, but once for all parts that lack the same."""
        for faults in self._missing.values():
            is_everywhere = len(faults) == len(self.parts)
            same: dict[str, list[CellFault]] = {}
            for fault in faults:
                same.setdefault("" if is_everywhere else fault.cell, []).append(fault)
            for first, *repeats in same.values():
                more = ngettext("So in %(number)s other row.", "So in %(number)s other rows.", len(repeats))
                message = f"{first.message} {more % {'number': len(repeats)}}" if repeats else first.message
                self.faults.append(CellFault(first.cell, first.field, message))

    def is_reported(self, field: str) -> bool:
        name = field.rpartition(".")[2]
        missing = any(fault.field == field for fault in self._missing.get(name, ()))
        return missing or any(fault.field == field for fault in self.faults)

    def settle_head(self, names: Mapping[str, str]) -> None:
        """Fill in the fields of the order from the head and the caller; they may not contradict each other."""
        for name, fallback in names.items():
            head, default = self.head.find(name), getattr(self.defaults, name, None)
            if head:
                self._put_head(name, head)
                if not head.fault and default not in (None, "") and not is_same(name, default, head.value):
                    values = {"sheet": shown(head.value), "given": shown(default)}
                    self.fault(head.cell, name, _("The sheet says %(sheet)s, the request %(given)s.") % values)
            elif default not in (None, ""):
                self.order[name] = default
                self.source(name, default, Origin.CALLER)
            elif fallback:
                self.order[name] = fallback
                self.source(name, fallback, Origin.FILE_NAME)

    def _put_head(self, name: str, head: HeadValue) -> None:
        self.cells[name] = head.cell
        if head.fault:
            self.fault(head.cell, name, head.fault)
        else:
            self.source(name, head.value, Origin.CELL, head.cell, head.note)
        if not head.fault or name != "plate_size":  # it has two sizes, so a text cannot stand in for it
            self.order[name] = head.value


def is_same(name: str, default: Any, value: Any) -> bool:
    if name == "customer_phone":
        with suppress(ValueError):
            return phone(shown(default)) == phone(shown(value))
    return shown(default) == shown(value)


def as_number(value: Value, unit: str = "") -> Decimal:
    """Return a cell as a number, which may be followed by its unit; ValueError says what is wrong."""
    if isinstance(value, Unreadable):
        raise CellError(value.message)
    if isinstance(value, bool):
        raise CellError(_("Expected a number."))
    if isinstance(value, Decimal):
        return value
    return read_number(value[: -len(unit)] if unit and value.lower().endswith(unit) else value)


def is_number(value: Value | None) -> bool:
    """Return whether a cell has a number, or had one before Excel made a date of it."""
    if not isinstance(value, str):
        return isinstance(value, (Decimal, Unreadable))
    value = UNIT.sub("", value)
    try:
        read_number(value)
    except ValueError:
        return bool(AMBIGUOUS.fullmatch(value))
    return True
