"""What the rows above the parts say about the whole order: labels such as `RENK: Beyaz`, and `18MM` or `210*280`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from kilit.csv.numbers import read_number
from orchestrator.schemas.orders import day, plain
from orchestrator.sheets.grid import Grid, Unreadable, Value, coordinate
from orchestrator.sheets.headings import fold, read_heading, read_label

ROWS = 10  # in which a customer's list says something about the order
CELLS, LONGEST = 30, 200  # of a row and of a cell's text: a person would look no further
NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
SIZES = re.compile(rf"{NUMBER}(?:\s*[*x×]\s*{NUMBER}){{1,2}}(?![0-9])", re.IGNORECASE)
THICKNESS = re.compile(r"(?<![0-9.,*x×])([0-9]{1,2}(?:[.,][0-9]{1,2})?)\s*mm\b", re.IGNORECASE)
MILLIMETRES = re.compile(r"\s*mm$", re.IGNORECASE)
CENTIMETRES_BELOW = 1_000
WORD, BAND = "(?:bant|band[iı]|pvc|kenar|edge)", rf"{NUMBER}\s*mm"
EDGE = re.compile(rf"{WORD}[^0-9]*({BAND})|({BAND})\s*{WORD}", re.IGNORECASE)
PRIORITIES = {"dusuk": "low", "normal": "normal", "yuksek": "high", "acil": "urgent"}
HEADINGS = 2  # recognised headings that make a row a row of headings


@dataclass(frozen=True)
class HeadValue:
    value: Any
    cell: str
    note: str = ""
    fault: str = ""


@dataclass
class Head:
    values: dict[str, list[HeadValue]] = field(default_factory=dict)

    def add(self, name: str, value: object, cell: str, *, note: str = "", fault: str = "") -> None:
        values = self.values.setdefault(name, [])
        if all(existing.value != value for existing in values):
            values.append(HeadValue(value, cell, note, fault))

    def find(self, name: str) -> HeadValue | None:
        """Return the value of a field; a second one is a fault, because no one can know which is right."""
        values = self.values.get(name, [])
        if len(values) < 2:
            return values[0] if values else None
        cells = ", ".join(value.cell for value in values)
        fault = _("The sheet says this more than once, and differently: %(cells)s.") % {"cells": cells}
        return HeadValue(shown(values[0].value), values[1].cell, fault=fault)


def shown(value: object) -> str:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, dict):
        return " × ".join(f"{plain(size)}" for size in value.values()) + " mm"
    return str(value)


def is_headings(grid: Grid, row: int) -> bool:
    """Return whether a row has headings; `RENK: Beyaz` and `RENK`, `Beyaz` are labels with their values."""
    texts = [value for value in grid.rows.get(row, {}).values() if isinstance(value, str)]
    headings = sum(bool(read_heading(text)[0]) for text in texts if ":" not in text)
    return headings >= HEADINGS and headings * 2 > len(texts)


def read_head(grid: Grid, rows: Iterable[int], *, labels_only: bool = False) -> Head:
    head = Head()
    for row in rows:
        if is_headings(grid, row):
            continue
        values = None
        for column, value in sorted(grid.rows.get(row, {}).items())[:CELLS]:
            if values == column or not isinstance(value, str) or len(value) > LONGEST:
                continue  # it is the value of the label before it, or no label
            name, inline = read_label(value)
            values = None if inline or not name else _next(grid, row, column)
            if name and inline:
                _add(head, name, inline, coordinate(row, column))
            elif name and values:
                _add(head, name, grid.rows[row][values], coordinate(row, values))
            if not labels_only and name not in ("edge", "plate_size", "thickness_mm"):
                _scan(head, value, coordinate(row, column))
    return head


def _next(grid: Grid, row: int, column: int) -> int | None:
    """Return the next filled cell of a row, unless it is a label itself."""
    following = min((other for other in grid.rows[row] if other > column), default=None)
    value = grid.find(row, following) if following else None
    return None if isinstance(value, str) and read_label(value)[0] else following


def _add(head: Head, name: str, value: Value, cell: str) -> None:
    if name == "due_on":
        _add_day(head, value.text if isinstance(value, Unreadable) else str(value), cell)  # Excel knows days
        return
    if isinstance(value, Unreadable):
        head.add(name, value.text, cell, fault=value.message)
        return
    text = plain(value) if isinstance(value, Decimal) else str(value)
    if name == "plate_size":
        if not _add_sizes(head, text, cell):
            head.add(name, text, cell, fault=_("Expected a size such as 210*280 or 2100*2800."))
    elif name in ("thickness_mm", "revision"):
        try:
            head.add(name, read_number(MILLIMETRES.sub("", text)), cell)
        except ValueError as error:
            head.add(name, text, cell, fault=str(error))
    elif name == "priority":
        head.add(name, PRIORITIES.get(fold(text), text), cell)
    else:
        head.add(name, text.upper() if name == "opti_mode" else text, cell)


def _add_day(head: Head, text: str, cell: str) -> None:
    try:
        head.add("due_on", day(text).isoformat(), cell)
    except ValueError as error:
        head.add("due_on", text, cell, fault=_(str(error)))


def _scan(head: Head, text: str, cell: str) -> None:
    """Find `18MM`, `210*280` and `BANT 1MM` in a text."""
    for band in EDGE.finditer(text):
        head.add("edge", band[1] or band[2], cell)
    text = EDGE.sub(" ", text)
    _add_sizes(head, text, cell)
    for thickness in THICKNESS.finditer(SIZES.sub(" ", text)):
        head.add("thickness_mm", read_number(thickness[1]), cell)


def _add_sizes(head: Head, text: str, cell: str) -> bool:
    """Add the plate of `210*280`; of three sizes the smallest is the thickness."""
    match = SIZES.search(text)
    if not match:
        return False
    try:
        sizes = [read_number(size) for size in re.findall(NUMBER, match[0])]
    except ValueError as error:
        head.add("plate_size", text, cell, fault=str(error))
        return True
    if len(sizes) > 2:  # width, height and thickness
        sizes.remove(thickness := min(sizes))
        head.add("thickness_mm", thickness, cell)
    in_cm = any(size < CENTIMETRES_BELOW for size in sizes)
    width, height = (size * 10 if size < CENTIMETRES_BELOW else size for size in sizes)
    note = _("%(text)s: below 1,000 it is centimetres") % {"text": match[0]} if in_cm else ""
    head.add("plate_size", {"width_mm": width, "height_mm": height}, cell, note=note)
    return True
