"""A grid of a page as tab-separated text, with lines and quotes as Excel copies them."""

import csv
import io
from collections.abc import Mapping, Sequence


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
