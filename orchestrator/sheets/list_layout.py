"""Customers' lists: A thickness or note, B length, C width, D pieces, E grain, F–I edges, J K drill codes, L note."""

import re
from decimal import Decimal

from django.utils.translation import gettext as _

from orchestrator.schemas.orders import plain
from orchestrator.sheets.grid import Grid, Unreadable, Value, coordinate
from orchestrator.sheets.head import MILLIMETRES, ROWS, THICKNESS, is_headings, read_head, shown
from orchestrator.sheets.headings import read_heading, read_label
from orchestrator.sheets.order_builder import OrderBuilder, is_number
from orchestrator.sheets.part_reader import PartReader, read_part_type
from orchestrator.sheets.sheet_order import Origin

LAYOUT = "list"
FIRST = 1
COLUMNS = {
    "thickness_mm": FIRST,
    "length_cm": 2,
    "width_cm": 3,
    "quantity": 4,
    "grain": 5,
    "edge_up": 6,
    "edge_lo": 7,
    "edge_sx": 8,
    "edge_dx": 9,
}
SIZES = (2, 3, 4)
DRILL_CODES, NOTE = (10, 11), 12
NUMBER_AT_END = re.compile(r"\b([0-9]{1,2}(?:[.,][0-9]{1,2})?)$")


def find_start(grid: Grid) -> int | None:
    """Return the first row where B, C and D are numbers, or one right above it where only one of them is missing."""
    start = next((row for row in grid.numbered_rows() if all(is_number(grid.find(row, c)) for c in SIZES)), None)
    while start and _lacks_one(grid, start - 1):
        start -= 1
    return start


def _lacks_one(grid: Grid, row: int) -> bool:
    values = [grid.find(row, column) for column in SIZES]
    first = grid.find(row, FIRST)
    if is_headings(grid, row) or (isinstance(first, str) and read_label(first)[0]):
        return False
    return sum(map(is_number, values)) == len(SIZES) - 1


def read_parts(builder: OrderBuilder, start: int) -> None:
    for row in builder.grid.numbered_rows():
        if ROWS < row < start and not is_headings(builder.grid, row):
            builder.skip(row)
    rows = [row for row in builder.grid.numbered_rows() if row >= start]
    parts = [row for row in rows if _is_part(builder, row)]
    for row in sorted({*rows}.difference(parts)):
        _pass_over(builder, row, last=parts[-1])
    reader = ListReader(builder, *_read_headings(builder, start))
    for row in parts:
        if builder.is_full(coordinate(row, SIZES[0])):
            return
        reader.read_row(row)


def _is_part(builder: OrderBuilder, row: int) -> bool:
    return not builder.is_total(row) and any(is_number(builder.at(row, column)[0]) for column in SIZES)


def _pass_over(builder: OrderBuilder, row: int, *, last: int) -> None:
    """Show that a row was not read; between parts it may not say anything that those below it would need."""
    builder.skip(row)
    if row > last or builder.is_total(row):
        return
    head = read_head(builder.grid, [row]).values
    types = [value for value in builder.grid.rows[row].values() if read_part_type(value)]
    if head or types:
        cell = next(iter(head.values()))[0].cell if head else coordinate(row, min(builder.grid.rows[row]))
        message = _("A row between parts is not read. Write the thickness of each part in column A.")
        builder.fault(cell, "parts", message)


def _read_headings(builder: OrderBuilder, start: int) -> tuple[dict[str, str], bool]:
    """Return the units of the sizes, and whether column A only counts the rows; other headings must be as expected."""
    units, counts = {"length_cm": "mm", "width_cm": "mm"}, False
    fields = {column: name for name, column in COLUMNS.items()}
    for row in (row for row in builder.grid.numbered_rows() if row < start and is_headings(builder.grid, row)):
        for column, value in builder.grid.rows[row].items():
            field, unit = read_heading(value) if isinstance(value, str) else ("", "")
            if column == FIRST:
                counts = counts or field == "id"
            elif field and fields.get(column, field) != field:
                message = _(
                    "Lists have length, width, pieces, grain and edges in B to I; this heading says %(heading)s."
                )
                builder.fault(coordinate(row, column), "parts", message % {"heading": value})
            elif field in units and unit == "cm":
                units[field] = unit
                builder.source(field, value, Origin.CELL, coordinate(row, column), _("in centimetres"))
    return units, counts


class ListReader(PartReader):
    def __init__(self, builder: OrderBuilder, units: dict[str, str], counts: bool) -> None:
        super().__init__(builder, COLUMNS, units)
        self.counts = counts
        self._beyond: set[int] = set()  # columns after the last

    def read_row(self, row: int) -> None:
        part = self.read(row)
        self._drill_code(part, row)
        notes = [self._first_column(part, row), self.builder.at(row, NOTE)]
        texts = [(shown(text(value)), cell) for value, cell in notes if value is not None]
        if texts:
            self.builder.put(part, "desc1", ", ".join(value for value, _cell in texts), texts[-1][1])
        if part.get("part_type") == "ARKALIK" and "thickness_mm" not in part:
            self._backing_thickness(part, row)
        self.finish(part, row)
        for column in self.builder.grid.rows.get(row, {}):
            if column > NOTE and column not in self._beyond:
                self._beyond.add(column)
                self.builder.source("not read", "", Origin.CELL, coordinate(row, column), _("column after L"))

    def _first_column(self, part: dict[str, object], row: int) -> tuple[str | None, str]:
        """Read the thickness, the type of the part, or both, and return what remains as a note."""
        value, cell = self.builder.at(row, FIRST)
        if value is None or not isinstance(value, str) or is_number(value):
            self._thickness_alone(part, value, cell)
            return None, cell
        kind = read_part_type(value)
        if kind:
            self.builder.put(part, "part_type", kind, cell)
        size = THICKNESS.search(value) or (kind and NUMBER_AT_END.search(value))
        if size:
            self.thickness(part, size[1], cell)
        if size and not kind:
            self.builder.source("thickness_mm", size[1], Origin.CELL, cell, value)
        return (None if kind and len(value.split()) <= 1 + 2 * bool(size) else value), cell

    def _thickness_alone(self, part: dict[str, object], value: Value | None, cell: str) -> None:
        """Read a cell with nothing but a thickness; without a unit it may be a count of rows."""
        has_unit = isinstance(value, str) and MILLIMETRES.search(value)
        if value is None:
            return
        if self.counts and not has_unit:
            self.builder.source("not read", "", Origin.CELL, coordinate(1, FIRST).rstrip("1"), _("row numbers"))
            return
        self.thickness(part, value, cell)
        rules = self.builder.rules
        thickness, thicknesses = part["thickness_mm"], {*rules.trim_by_thickness, *rules.backing_thicknesses}
        if isinstance(thickness, Decimal) and thickness not in thicknesses and not has_unit:
            message = _("The rules have no thickness of %(value)s mm. Write %(value)sMM if it is one.")
            self.builder.fault(cell, f"{self.builder.path}.thickness_mm", message % {"value": plain(thickness)})

    def _backing_thickness(self, part: dict[str, object], row: int) -> None:
        thicknesses = self.builder.rules.backing_thicknesses
        head = self.builder.head.find("thickness_mm")
        inherited = head.value if head and not head.fault else self.builder.defaults.thickness_mm
        if inherited not in thicknesses:
            sizes = ", ".join(plain(thickness) for thickness in sorted(thicknesses))
            message = _("How thick is this backing? The rules have %(sizes)s mm: write ARKALIK and its thickness.")
            cell = self.builder.at(row, FIRST)[1]
            self.builder.fault(cell, f"{self.builder.path}.thickness_mm", message % {"sizes": sizes})
            part["thickness_mm"] = ""

    def _drill_code(self, part: dict[str, object], row: int) -> None:
        for column in DRILL_CODES:
            before = part.get("iidesc")
            self.builder.text(part, "iidesc", row, column)
            if before and part["iidesc"] != before:
                part["iidesc"] = f"{before} {part['iidesc']}"


def text(value: Value) -> Value:
    """Return a date as its text, which is fine in a note."""
    return value.text if isinstance(value, Unreadable) else value
