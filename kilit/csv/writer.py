"""CSV files: streamed, safe to open in a spreadsheet, with times in the reader's zone."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo

from django.http import StreamingHttpResponse
from django.utils import timezone

CHUNK = 1000
# Spreadsheets run cells that start like this as formulas; full-width signs are those of East Asian keyboards.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Echo:
    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]], *, delimiter: str = ",") -> Iterator[str]:
    """Return the file line by line, so that memory use does not depend on the number of rows."""
    # Now: while the file is streamed, the request and its zone have ended.
    return _lines(columns, rows, delimiter, timezone.get_current_timezone())


def _lines(columns: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str, zone: tzinfo) -> Iterator[str]:
    writer = csv.writer(Echo(), delimiter=delimiter)
    # Without a byte order mark, Excel reads UTF-8 as the local code page.
    yield "\ufeff" + str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([_cell(cell, zone) for cell in row]))


def _cell(cell: object, zone: tzinfo) -> str:
    """Return a cell as text; a time is ISO 8601 with its offset, in every file."""
    if isinstance(cell, datetime):
        return cell.astimezone(zone).isoformat(timespec="seconds")
    return escape_formula(cell)


def csv_response(name: str, lines: Iterable[str]) -> StreamingHttpResponse:
    return lines_response(f"{name}-{timezone.localtime():%Y-%m-%d}.csv", lines, content_type="text/csv; charset=utf-8")


def lines_response(file_name: str, lines: Iterable[str], *, content_type: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)


def escape_formula(cell: object) -> str:
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`, so that an exported file can be imported."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell
