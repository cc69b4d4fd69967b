"""The grid of an import's rejected lines: each with its number, its cells and what is wrong with them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from kilit.csv.grid import rows_from_text, text_from_rows
from kilit.lock.text import strip_control_chars
from ociqueue.files.import_jobs import TABLES
from ociqueue.models import ImportJob, ImportLine
from ociqueue.models.import_job import SITE_COLUMN
from ociqueue.schemas.conversions import fields_of

LINE = "line"


def columns_of(job: ImportJob) -> Sequence[str]:
    """Return the columns of the file of rejected lines."""
    fields = TABLES[job.kind].fields
    return fields_of(job.site, fields) if job.site else (SITE_COLUMN, *fields)


def cells_of(line: ImportLine, columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a line; one that could not be read is in the first of them as it is."""
    return line.cells or {columns[0]: line.text}


def line_grid(job: ImportJob, lines: Sequence[ImportLine]) -> dict[str, Any]:
    names = _columns(job, lines)
    rows = {line.line: cells_of(line, names) for line in lines}
    faults = [(line.line, field, reason) for line in lines for field, reason, _value in line.faults]
    return grid_of(rows, names, faults)


def grid_of(
    rows: Mapping[int, Mapping[str, str]], names: Sequence[str], faults: Iterable[tuple[int, str, str]]
) -> dict[str, Any]:
    """Return lines by their numbers for admin/console/grid.html, with faults of a line and a column."""
    columns = [{"name": LINE, "label": _("Line")}, *({"name": name, "label": name} for name in names)]
    places = {number: place for place, number in enumerate(rows)}
    faults_by_place = [
        [places[number], *_place(field, reason, names)] for number, field, reason in faults if number in places
    ]
    return {
        "name": "lines",
        "is_fixed": True,
        "rows": text_of(rows, names),
        "columns": columns,
        "columns_json": json.dumps(columns),
        "faults_json": json.dumps(faults_by_place),
        "names": ",".join(names),
    }


def text_of(rows: Mapping[int, Mapping[str, str]], names: Sequence[str]) -> str:
    return text_from_rows([{LINE: str(number), **cells} for number, cells in rows.items()], [LINE, *names])


def read_rows(text: str, names: Sequence[str]) -> dict[int, dict[str, str]]:
    """Return lines that were typed, by their numbers."""
    typed = {}
    for row in rows_from_text(strip_control_chars(text), [LINE, *names]):
        number = row.pop(LINE, "")
        if number.isascii() and number.isdigit() and len(number) < 10:
            typed[int(number)] = {name: cell.strip() for name, cell in row.items()}
    return typed


def _columns(job: ImportJob, lines: Sequence[ImportLine]) -> list[str]:
    """Return the columns with faults first; those that are in none of the lines are left out."""
    columns = columns_of(job)
    faulty = {_place(field, reason, columns)[0] for line in lines for field, reason, _value in line.faults}
    used = {name for line in lines for name in line.cells} if all(line.cells for line in lines) else columns
    return sorted((name for name in columns if name in used or name in faulty), key=lambda name: name not in faulty)


def _place(field: str, reason: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the cell of a fault; a fault of a whole line may begin with the name of a column."""
    before, colon, after = reason.partition(": ")
    return (before, after) if not field and colon and before in names else (field, reason)


def typed_lines(job: ImportJob, posted: QueryDict) -> dict[int, dict[str, str]]:
    """Return the lines of the grid that were changed, by their numbers."""
    allowed = columns_of(job)
    names = [name for name in posted.get("names", "").split(",") if name in allowed]
    typed = read_rows(posted.get("rows", ""), names)
    kept = ImportLine.objects.shown_for(job).filter(is_differing=False, line__in=typed)
    return {line.line: typed[line.line] for line in kept if names and typed[line.line] != cells_of(line, names)}
