"""CSV files: streamed, and safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone

CHUNK = 1000
# Spreadsheets run cells that start like this as formulas; full-width signs are those of East Asian keyboards.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Echo:
    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",") -> Iterator[str]:
    """Yield the file line by line, so that memory use does not depend on the number of rows."""
    writer = csv.writer(Echo(), delimiter=delimiter)
    # Without a byte order mark, Excel reads UTF-8 as the local code page.
    yield "\ufeff" + str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([escape_formula(cell) for cell in row]))


def csv_response(name: str, lines: Iterable[str]) -> StreamingHttpResponse:
    file_name = f"{name}-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def escape_formula(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`, so that an exported file can be imported."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell
