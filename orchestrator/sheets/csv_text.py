"""Reads CSV files as Excel writes them: three delimiters, and the encodings of Turkish Windows."""

import csv
import re
from io import StringIO
from itertools import islice

from django.utils.translation import gettext as _

from kilit.csv.writer import unescape_formula
from orchestrator.sheets.grid import MOST_CELLS, Grid, clean_text, too_large
from orchestrator.sheets.sheet_order import SheetError

DELIMITERS = (";", "\t", ",")
MOST_SAMPLED = 50  # lines that decide the delimiter
FIRST_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"')
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_csv(content: bytes) -> Grid:
    text, encoding = _decode(content)
    delimiter, text = _delimiter(text)
    grid = Grid(about=f"CSV, {encoding}, {delimiter.replace(chr(9), 'tab')}")
    cells = 0
    try:
        for number, line in enumerate(csv.reader(StringIO(text, newline=""), delimiter=delimiter), start=1):
            cells += len(line)
            if cells > MOST_CELLS:
                raise too_large()
            if row := {column: shown for column, cell in enumerate(line, start=1) if (shown := _text(cell))}:
                grid.rows[number] = dict(row)
    except csv.Error as error:
        raise SheetError(_("The file is not a readable CSV file: %(error)s.") % {"error": error}) from None
    return grid


def _text(cell: str) -> str:
    return clean_text(unescape_formula(cell.strip()))


def _decode(content: bytes) -> tuple[str, str]:
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), None)
    encodings = [BYTE_ORDER_MARKS[mark]] if mark else ["utf-8", "cp1254"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text, encoding
    raise SheetError(_("This is neither an Excel file nor text. In Excel, save it as .xlsx."))


def _delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter and the text without Excel's line `sep=;`, which Excel does not show as a row."""
    if (first := FIRST_LINE.match(text)) and first[1] in DELIMITERS:
        return first[1], text[first.end() :]
    sample = [QUOTED.sub("", line) for line in islice(filter(str.strip, text.splitlines()), MOST_SAMPLED)]
    # A comma may be a decimal comma, so the others are looked for first.
    for delimiter in DELIMITERS:
        if sum(delimiter in line for line in sample) * 2 > len(sample):
            return delimiter, text
    return next((delimiter for delimiter in DELIMITERS if any(delimiter in line for line in sample)), ";"), text
