"""Reads an order from a sheet: our own layout, or a customer's list."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from django.utils.translation import gettext as _

from kilit.api.input_model import FieldError
from orchestrator.orders.order import read_order
from orchestrator.schemas.orders import InvalidOrder
from orchestrator.schemas.rules import Rules
from orchestrator.sheets import kilit_layout, list_layout
from orchestrator.sheets.files import read_grids
from orchestrator.sheets.grid import Grid, position
from orchestrator.sheets.head import ROWS, read_head
from orchestrator.sheets.order_builder import OrderBuilder
from orchestrator.sheets.sheet_order import CellFault, Origin, SheetDefaults, SheetError, SheetOrder

NO_DEFAULTS = SheetDefaults()
MOST_FAULTS = 100
HEAD = ("order_id", "customer_phone", "customer_snapshot_name", "opti_mode", "plate_size", "revision", "priority")


def read_sheet(
    name: str, content: bytes, rules: Rules, *, defaults: SheetDefaults = NO_DEFAULTS, sheet: str = ""
) -> SheetOrder:
    """Read an XLSX or CSV file; SheetError if it cannot be read at all.

    `faults` holds everything that keeps it from being an order, also what `read_order` finds.
    """
    grids = read_grids(content)
    grid = _choose(grids, sheet)
    builder, layout = _read(grid, rules, defaults)
    stem = PurePath(re.split(r"[/\\]", name)[-1]).stem.strip()
    builder.settle_head({field: stem if field == "order_id" else "" for field in HEAD})
    builder.settle_missing()
    _describe(builder, grids, grid)
    found = SheetOrder(layout, grid.name, builder.order, builder.cells, builder.sources)
    return _check(found, builder)


def _choose(grids: Sequence[Grid], name: str) -> Grid:
    """Return the sheet that was asked for, or the only visible one with parts."""
    if name:
        chosen = next((grid for grid in grids if grid.name == name), None)
        if chosen is None:
            names = tuple(grid.name for grid in grids)
            raise SheetError(_("There is no sheet %(name)s.") % {"name": name}, sheets=names)
        candidates = [chosen]
    else:
        candidates = [grid for grid in grids if not grid.is_hidden]
    found = [grid for grid in candidates if kilit_layout.find_headings(grid) or list_layout.find_start(grid)]
    if not found:
        message = _(
            "No parts were found: neither the headings of the template, nor a row with numbers in B, C and D (length, "
            "width, pieces)."
        )
        raise SheetError(message)
    if len(found) > 1:
        names = tuple(grid.name for grid in found)
        raise SheetError(
            _("Several sheets have parts: %(names)s. Choose one.") % {"names": ", ".join(names)}, sheets=names
        )
    return found[0]


def _read(grid: Grid, rules: Rules, defaults: SheetDefaults) -> tuple[OrderBuilder, str]:
    if headings := kilit_layout.find_headings(grid):
        head = read_head(grid, range(1, headings.row), labels_only=True)
        builder = OrderBuilder(grid, head, rules, defaults)
        kilit_layout.read_parts(builder, headings)
        return builder, kilit_layout.LAYOUT
    start = list_layout.find_start(grid) or 1
    builder = OrderBuilder(grid, read_head(grid, range(1, min(start, ROWS + 1))), rules, defaults)
    list_layout.read_parts(builder, start)
    return builder, list_layout.LAYOUT


def _describe(builder: OrderBuilder, grids: Sequence[Grid], chosen: Grid) -> None:
    """Show which sheet was read, how a text file was read, and what was left out."""
    if chosen.about:
        builder.source("file", chosen.about, Origin.FILE)
    for grid in grids:
        if grid is chosen and grid.name:
            builder.source("sheet", grid.name, Origin.FILE)
        elif grid is not chosen and grid.rows:
            builder.source("not read", grid.name, Origin.FILE, note=_("hidden sheet") if grid.is_hidden else _("sheet"))


def _check(found: SheetOrder, builder: OrderBuilder) -> SheetOrder:
    """Add what `read_order` finds, and sort the faults as a person reads the sheet."""
    faults, beyond = [*builder.faults], 0
    try:
        read_order(found.order, default_mode=builder.rules.opti_mode_default)
    except InvalidOrder as error:
        beyond = error.count - len(error.errors)
        faults += locate(found, [each for each in error.errors if not builder.is_reported(each["field"])])
    beyond += max(0, len(faults) - MOST_FAULTS)
    return replace(found, faults=sorted(faults, key=_reading_order)[:MOST_FAULTS], faults_beyond=beyond)


def locate(sheet: SheetOrder, errors: Sequence[FieldError]) -> list[CellFault]:
    """Return the errors of `read_order` at their cells; one of a whole part is shown at its length."""
    return [
        CellFault(sheet.cells.get(each["field"]) or sheet.cells.get(f"{each['field']}.length_cm", ""), **each)
        for each in errors
    ]


def _reading_order(fault: CellFault) -> tuple[int, int]:
    return position(fault.cell) if fault.cell else (0, 0)
