"""CSV files: streamed, and safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone

CHUNK = 1000
# A spreadsheet takes a cell that begins so for a formula, and runs it; wide signs are those of East Asian keyboards.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Give the file line by line, so that memory stays the same for any number of rows."""
    writer = csv.writer(Echo())
    # Without the mark Excel reads UTF-8 as the machine's own code page.
    yield "\ufeff" + str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([harmless(cell) for cell in row]))


def csv_answer(name: str, lines: Iterable[str]) -> StreamingHttpResponse:
    """Stream a file, named after the day."""
    file_name = f"{name}-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def harmless(cell: Any) -> str:
    """Return a cell as text that no spreadsheet takes for a formula."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
