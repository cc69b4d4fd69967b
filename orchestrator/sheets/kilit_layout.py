"""Our own layout: labels above, then a row of headings in any order, then one row for each part."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from orchestrator.sheets.grid import Grid, coordinate
from orchestrator.sheets.head import shown
from orchestrator.sheets.headings import UNITS, fold, read_heading
from orchestrator.sheets.order_builder import OrderBuilder, is_number
from orchestrator.sheets.part_reader import PART_TYPES, PartReader
from orchestrator.sheets.sheet_order import Origin

LAYOUT = "kilit"
SEARCHED_ROWS = 30
# Customers' lists have the sizes too, but no material.
RECOGNISED_BY = {"length_cm", "width_cm", "quantity", "material_code"}
SIZES = ("length_cm", "width_cm", "quantity")


@dataclass
class Headings:
    row: int
    columns: dict[str, int]
    units: dict[str, str]
    repeated: list[int]
    unknown: list[int]


def find_headings(grid: Grid) -> Headings | None:
    for row in grid.numbered_rows():
        if row > SEARCHED_ROWS:
            return None
        headings = _read_headings(grid, row)
        if headings.columns.keys() >= RECOGNISED_BY:
            return headings
    return None


def _read_headings(grid: Grid, row: int) -> Headings:
    headings = Headings(row, {}, {}, [], [])
    for column, value in sorted(grid.rows[row].items()):
        field, unit = read_heading(value) if isinstance(value, str) else ("", "")
        if not field:
            headings.unknown.append(column)
        elif field in headings.columns:
            headings.repeated.append(column)
        else:
            headings.columns[field], headings.units[field] = column, unit
    return headings


def read_parts(builder: OrderBuilder, headings: Headings) -> None:
    _check_headings(builder, headings)
    units = {name: headings.units[name] or UNITS[0] for name in ("length_cm", "width_cm")}
    reader = PartReader(builder, headings.columns, units)
    for row in part_rows(builder, headings.columns, after=headings.row):
        if builder.is_full(coordinate(row, headings.columns["length_cm"])):
            return
        part = reader.read(row)
        if column := headings.columns.get("thickness_mm"):
            value, cell = builder.at(row, column)
            if value is not None:
                reader.thickness(part, value, cell)
        if column := headings.columns.get("part_type"):
            value, cell = builder.at(row, column)
            if value is not None:
                kind = PART_TYPES.get(fold(shown(value)))
                if kind:
                    builder.put(part, "part_type", kind, cell)
                else:
                    builder.reject(part, "part_type", value, cell, _("Expected GOVDE or ARKALIK."))
        reader.finish(part, row)


def part_rows(builder: OrderBuilder, columns: dict[str, int], *, after: int) -> Iterator[int]:
    """Yield the rows of parts: those with a size, or with several other cells. What is left out is shown."""
    for row in builder.grid.numbered_rows():
        if row <= after:
            continue
        filled = {name for name, column in columns.items() if builder.grid.find(row, column) is not None}
        is_size = any(is_number(builder.grid.find(row, columns[name])) for name in filled.intersection(SIZES))
        if not builder.is_total(row) and (is_size or len(filled) > 1):
            yield row
        else:
            builder.skip(row)


def _check_headings(builder: OrderBuilder, headings: Headings) -> None:
    row = headings.row
    for name in ("length_cm", "width_cm"):
        if not headings.units[name]:
            message = _("Write the unit into the heading: (cm) or (mm).")
            builder.fault(coordinate(row, headings.columns[name]), "parts", message)
    if headings.units.get("thickness_mm") == "cm":
        message = _("The thickness is in millimetres: write (mm).")
        builder.fault(coordinate(row, headings.columns["thickness_mm"]), "parts", message)
    for column in headings.repeated:
        builder.fault(coordinate(row, column), "parts", _("There is another column with this heading."))
    for column in headings.unknown:
        builder.source("not read", builder.grid.rows[row][column], Origin.CELL, coordinate(row, column), _("column"))
