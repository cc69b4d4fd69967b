"""A grid of a page as tab-separated text, with lines and quotes as Excel copies them."""

import csv
import io
from collections.abc import Mapping, Sequence

from kilit.lock.text import strip_control_chars

LINE = "line"  # the column of a line's number


def rows_from_text(text: str, columns: Sequence[str]) -> list[dict[str, str]]:
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), dialect="excel-tab"))
    except csv.Error:
        lines = [line.split("\t") for line in text.splitlines()]
    rows = [{name: cell for name, cell in zip(columns, line, strict=False) if cell.strip()} for line in lines]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def text_from_rows(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, dialect="excel-tab", lineterminator="\n")
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return written.getvalue()


def text_from_lines(rows: Mapping[int, Mapping[str, str]], names: Sequence[str]) -> str:
    return text_from_rows([{LINE: str(number), **cells} for number, cells in rows.items()], [LINE, *names])


def lines_from_text(text: str, names: Sequence[str]) -> dict[int, dict[str, str]]:
    """Return lines that were typed, by their numbers."""
    typed = {}
    for row in rows_from_text(strip_control_chars(text), [LINE, *names]):
        number = row.pop(LINE, "")
        if number.isascii() and number.isdigit() and len(number) < 10:
            typed[int(number)] = {name: cell.strip() for name, cell in row.items()}
    return typed
