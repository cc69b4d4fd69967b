"""Lists that other programs export: CutList Optimizer, and OpenCutList for SketchUp.

Their headings are as in English. Sizes without a unit are millimetres. The grid is changed to what our own layout
reads, cell by cell, so that a fault still names the cell of the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from kilit.csv.numbers import read_number
from orchestrator.sheets.grid import Grid
from orchestrator.sheets.headings import fold
from orchestrator.sheets.kilit_layout import SEARCHED_ROWS, Headings
from orchestrator.sheets.order_builder import OrderBuilder
from orchestrator.sheets.sheet_order import Origin

SIZES = ("length_cm", "width_cm", "thickness_mm")
SIZE = re.compile(r"~?\s*([0-9.,]+)\s*(mm|cm|m)?", re.IGNORECASE)
MILLIMETRES = {"": 1, "mm": 1, "cm": 10, "m": 1000}
GRAINS = {"h": (1, "along the length"), "v": (2, "along the width")}
ENABLED = "enabled"


@dataclass(frozen=True)
class ProgramLayout:
    name: str
    columns: Mapping[str, str]  # by folded heading
    recognised_by: frozenset[str]


LAYOUTS = (
    ProgramLayout(
        "cutlist",
        {
            "length": "length_cm",
            "width": "width_cm",
            "qty": "quantity",
            "material": "material_code",
            "label": "desc1",
            "enabled": ENABLED,
            "grain direction": "grain",
            "grain": "grain",
        },
        frozenset(["length", "width", "qty", "enabled"]),
    ),
    ProgramLayout(
        "opencutlist",
        {
            "designation": "desc1",
            "quantity": "quantity",
            "length": "length_cm",
            "width": "width_cm",
            "thickness": "thickness_mm",
            "material name": "material_code",
            "edge length 1": "edge_lo",
            "edge length 2": "edge_up",
            "edge width 1": "edge_sx",
            "edge width 2": "edge_dx",
        },
        frozenset(["designation", "quantity", "length", "width", "thickness"]),
    ),
)


def find_layout(grid: Grid) -> tuple[ProgramLayout, Headings] | None:
    for row in grid.numbered_rows():
        if row > SEARCHED_ROWS:
            return None
        names = {column: fold(value) for column, value in grid.rows[row].items() if isinstance(value, str)}
        for layout in LAYOUTS:
            if layout.recognised_by <= set(names.values()):
                return layout, _headings(layout, row, names)
    return None


def _headings(layout: ProgramLayout, row: int, names: Mapping[int, str]) -> Headings:
    headings = Headings(row, {}, dict.fromkeys(SIZES, "mm"), [], [])
    for column, name in sorted(names.items()):
        field = layout.columns.get(name)
        if not field:
            headings.unknown.append(column)
        elif field in headings.columns:
            headings.repeated.append(column)
        else:
            headings.columns[field] = column
    return headings


def normalise(builder: OrderBuilder, headings: Headings) -> None:
    """Turn what the programs write into what is read: sizes in millimetres, the grain as a number, no disabled rows."""
    grid, columns = builder.grid, headings.columns
    enabled, grain = columns.pop(ENABLED, 0), columns.get("grain", 0)
    for row in [row for row in grid.numbered_rows() if row > headings.row]:
        cells = grid.rows[row]
        if fold(str(cells.pop(enabled, ""))) in ("false", "0", "no"):
            builder.skip(row, enabled, _("disabled in the list"))
            del grid.rows[row]
            continue
        for column in (columns[name] for name in SIZES if name in columns):
            match = SIZE.fullmatch(value) if isinstance(value := cells.get(column), str) else None
            if match:
                cells[column] = _millimetres(match, value=str(value))
        if isinstance(direction := cells.pop(grain, None), str) and direction.strip().lower() in GRAINS:
            number, meaning = GRAINS[direction.strip().lower()]
            cells[grain] = Decimal(number)
            builder.source("grain", f"{direction} → {number}", Origin.CELL, "", _(meaning))
        elif direction is not None and not isinstance(direction, str):
            cells[grain] = direction


def _millimetres(match: re.Match[str], *, value: str) -> Decimal | str:
    try:
        return read_number(match[1]) * MILLIMETRES[(match[2] or "").lower()]
    except ValueError:
        return value  # the reader says what is wrong with it
