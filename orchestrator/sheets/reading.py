"""Reads an order from an XLSX or CSV file: our own layout, a customer's list, or the list of another program."""

import csv
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from django.utils.translation import gettext as _

from kilit.api.input_model import FieldError
from kilit.csv.text import CsvError, open_small_table
from kilit.csv.writer import unescape_formula
from orchestrator.orders.order import read_order
from orchestrator.schemas.orders import InvalidOrder
from orchestrator.schemas.rules import Rules
from orchestrator.sheets import kilit_layout, list_layout, program_layouts
from orchestrator.sheets.grid import MOST_CELLS, Grid, clean_text, position, too_large
from orchestrator.sheets.head import ROWS, read_head
from orchestrator.sheets.order_builder import OrderBuilder
from orchestrator.sheets.sheet_order import CellFault, Origin, SheetDefaults, SheetError, SheetOrder
from orchestrator.sheets.xlsx import read_xlsx

logger = logging.getLogger(__name__)

MEGABYTES = 5
MOST_ROWS = 20_000
ZIP, OLE = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
OTHERS = (b"%pdf", b"<html", b"<!doctype", b"<table", b"<?xml", b"{\\rtf", b"\x89png", b"\xff\xd8\xff")
NO_DEFAULTS = SheetDefaults()
MOST_FAULTS = 100
HEAD = (
    "order_id",
    "customer_phone",
    "customer_snapshot_name",
    "opti_mode",
    "plate_size",
    "revision",
    "priority",
    "due_on",
    "saw",
)


def read_csv(content: bytes) -> Grid:
    try:
        table = open_small_table(content)
    except (CsvError, UnicodeError):
        raise SheetError(_("This is neither an Excel file nor text. In Excel, save it as .xlsx.")) from None
    grid = Grid(about=f"CSV, {table.encoding}, {table.delimiter.replace(chr(9), 'tab')}")
    cells = 0
    try:
        for number, line in enumerate(table.rows, start=1):
            cells += len(line)
            if cells > MOST_CELLS:
                raise too_large()
            if row := {column: text_value for column, cell in enumerate(line, start=1) if (text_value := _text(cell))}:
                grid.rows[number] = dict(row)
    except csv.Error as error:
        raise SheetError(_("The file is not a readable CSV file: %(error)s.") % {"error": error}) from None
    return grid


def _text(cell: str) -> str:
    return clean_text(unescape_formula(cell.strip()))


def read_grids(content: bytes) -> list[Grid]:
    if len(content) > MEGABYTES * 1024**2:
        raise SheetError(_("The file is larger than %(most)s MB.") % {"most": MEGABYTES})
    if not content.strip():
        raise SheetError(_("The file is empty."))
    if content.startswith(OLE):
        if ENCRYPTED_PACKAGE in content:
            raise SheetError(_("The file is protected with a password. Remove it in Excel, and save the file again."))
        raise SheetError(_("This is an old Excel file (.xls). In Excel, save it as .xlsx."))
    if content[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(OTHERS) or OPEN_DOCUMENT in content[:200]:
        raise SheetError(_("This is not an Excel file. Open it in Excel, and save it as .xlsx."))
    grids = _read_xlsx(content) if content.startswith(ZIP) else [read_csv(content)]
    if any(len(grid.rows) > MOST_ROWS for grid in grids):
        raise too_large()
    return grids


def _read_xlsx(content: bytes) -> list[Grid]:
    try:
        return read_xlsx(content)
    except SheetError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged files raise almost anything
        logger.info("an order's sheet cannot be read", extra={"error": type(error).__name__})
        message = _("The file is damaged, or not an Excel workbook. Open it in Excel, and save it as .xlsx.")
        raise SheetError(message) from None


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
    order = SheetOrder(layout, grid.name, builder.order, builder.cells, builder.sources)
    return _check(order, builder)


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
    finders = (kilit_layout.find_headings, program_layouts.find_layout, list_layout.find_start)
    with_parts = [grid for grid in candidates if any(find(grid) for find in finders)]
    if not with_parts:
        message = _(
            "No parts were found: neither the headings of the template, nor a row with numbers in B, C and D (length, "
            "width, pieces)."
        )
        raise SheetError(message)
    if len(with_parts) > 1:
        names = tuple(grid.name for grid in with_parts)
        raise SheetError(
            _("Several sheets have parts: %(names)s. Choose one.") % {"names": ", ".join(names)}, sheets=names
        )
    return with_parts[0]


def _read(grid: Grid, rules: Rules, defaults: SheetDefaults) -> tuple[OrderBuilder, str]:
    if headings := kilit_layout.find_headings(grid):
        head = read_head(grid, range(1, headings.row), labels_only=True)
        builder = OrderBuilder(grid, head, rules, defaults)
        kilit_layout.read_parts(builder, headings)
        builder.settle_rows(headings.row + 1)
        return builder, kilit_layout.LAYOUT
    if program := program_layouts.find_layout(grid):
        layout, headings = program
        head = read_head(grid, range(1, headings.row), labels_only=True)
        builder = OrderBuilder(grid, head, rules, defaults)
        program_layouts.normalise(builder, headings)
        kilit_layout.read_parts(builder, headings)
        builder.settle_rows(headings.row + 1)
        return builder, layout.name
    start = list_layout.find_start(grid) or 1
    builder = OrderBuilder(grid, read_head(grid, range(1, min(start, ROWS + 1))), rules, defaults)
    list_layout.read_parts(builder, start)
    builder.settle_rows(start)
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


def _check(sheet: SheetOrder, builder: OrderBuilder) -> SheetOrder:
    """Add what `read_order` finds, and sort the faults as a person reads the sheet."""
    faults, beyond = [*builder.faults], 0
    try:
        read_order(sheet.order, default_mode=builder.rules.opti_mode_default)
    except InvalidOrder as error:
        beyond = error.count - len(error.errors)
        faults += locate(sheet, [fault for fault in error.errors if not builder.is_reported(fault["field"])])
    beyond += max(0, len(faults) - MOST_FAULTS)
    return replace(sheet, faults=sorted(faults, key=_reading_order)[:MOST_FAULTS], faults_beyond=beyond)


def locate(sheet: SheetOrder, errors: Sequence[FieldError]) -> list[CellFault]:
    """Return the errors of `read_order` at their cells; one of a whole part is shown at its length."""
    return [
        CellFault(sheet.cells.get(error["field"]) or sheet.cells.get(f"{error['field']}.length_cm", ""), **error)
        for error in errors
    ]


def _reading_order(fault: CellFault) -> tuple[int, int]:
    return position(fault.cell) if fault.cell else (0, 0)
