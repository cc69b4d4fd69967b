"""Turns an order that was read from a sheet into what would have been typed, to be corrected in the grid."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from kilit.csv.numbers import AMBIGUOUS
from orchestrator.drafts.typed import (
    COLUMNS,
    FIELDS,
    PART_FIELDS,
    SHEET_FAULTS,
    UNITS,
    InvalidDraft,
    TypedOrder,
    place_of,
)
from orchestrator.schemas.orders import UNSAFE_CHARS, plain
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.sheet_order import CellFault, SheetOrder

# A cell that cannot be read stays as it is, so the grid has the unit of the sheet.
UNIT_OF = {"kilit": "cm", "list": "mm", "cutlist": "mm", "opencutlist": "mm"}


def upload_of(sheet: SheetOrder, name: str, content: bytes) -> dict[str, Any]:
    """Return the columns of a draft that keep its file and how it was read."""
    return {
        "file_name": UNSAFE_CHARS.sub("_", name)[-255:],
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "file_content": content,
        "layout": sheet.layout,
        "sources": [{name: str(value) for name, value in asdict(source).items()} for source in sheet.sources],
        "cells": _cells_of(sheet),
    }


def content_of(sheet: SheetOrder, rules: Rules, *, replacing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    typed = _typed_order(sheet, replacing)
    if faults := _faults_of_sheet(sheet, typed, rules):
        typed[SHEET_FAULTS] = [{"cell": fault.cell, "message": fault.message} for fault in faults]
    return typed


def _typed_order(sheet: SheetOrder, replacing: Mapping[str, Any] | None) -> dict[str, Any]:
    unit = UNIT_OF.get(sheet.layout, "mm")
    order = sheet.order
    plate = order.get("plate_size") or {}
    sides = {name: plate.get(side) for name, side in (("plate_width", "width_mm"), ("plate_height", "height_mm"))}
    texts = {name: _typed(value) for name, value in {**order, **sides}.items() if name in FIELDS}
    before = replacing["fields"] if replacing else {"priority": "normal"}
    return {
        "unit": unit,
        "fields": {**before, **{name: text for name, text in texts.items() if text}},
        "rows": [_row(part, unit) for part in order.get("parts", [])],
    }


def _faults_of_sheet(sheet: SheetOrder, typed: Mapping[str, object], rules: Rules) -> list[CellFault]:
    """Return the faults that the grid cannot show: in headings, and in cells that could mean something else."""
    try:
        TypedOrder(typed).read(rules)
        places = set()
    except InvalidDraft as invalid:
        places = {(fault.row, fault.field) for fault in invalid.faults}
    # What the sheet does not have may have been typed before.
    missing = {(None, name) for name in FIELDS}
    faults = [(fault, place_of(fault.field)) for fault in sheet.faults]
    return [fault for fault, place in faults if place not in places and (fault.cell or place not in missing)]


def _row(part: Mapping[str, object], unit: str) -> dict[str, str]:
    row = {}
    for column in COLUMNS:
        value = part.get(PART_FIELDS.get(column, column))
        if column in PART_FIELDS and isinstance(value, int | Decimal):
            value = Decimal(value) / UNITS[unit]
        if text := _typed(value):
            row[column] = text
    return row


def _typed(value: object) -> str:
    """Return a value as people type it; a number is read again as the same number."""
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return "" if value is None else str(value)
    text = plain(Decimal(value))
    return f"{text}0" if AMBIGUOUS.fullmatch(text) else text


def _cells_of(sheet: SheetOrder) -> dict[str, str]:
    """Return the sheet's cells by what stays the same while rows move: the field, or the part's id and the column."""
    parts = sheet.order.get("parts", [])
    cells = {}
    for path, cell in sheet.cells.items():
        row, field = place_of(path)
        cells[field if row is None else f"{parts[row]['id']}.{field}"] = cell
    return cells
