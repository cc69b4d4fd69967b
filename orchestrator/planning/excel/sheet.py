"""One batch as an XLSX file: the same batch and template always give the same bytes.

This module loads openpyxl: import it late.
"""

import re
from copy import copy
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from operator import attrgetter
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.worksheet.worksheet import Worksheet
from openpyxl.writer.excel import ExcelWriter

from orchestrator.planning.excel.template import FIRST_ROW, open_template
from orchestrator.planning.plan import Batch, Row

# The earliest date of a zip file.
STAMP = datetime(1980, 1, 1)  # noqa: DTZ001 - neither zip nor Excel has time zones
# Like `dataclasses.astuple`, which would also copy every value.
cells_of = attrgetter(*(field.name for field in fields(Row)))
# Excel reads _x0041_ in a text as the letter A.
ESCAPE_LOOKALIKE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")


def sheet_bytes(template: bytes, batch: Batch) -> bytes:
    workbook, sheet = open_template(template)
    _remove_samples(sheet)
    text = _text_style(sheet)
    for number, row in enumerate(batch.rows, start=FIRST_ROW):
        for column, value in enumerate(cells_of(row), start=1):
            if value is not None:
                _write(sheet.cell(number, column), value, text)
    workbook.properties.created = workbook.properties.modified = STAMP
    raw = BytesIO()
    with ZipFile(raw, "w", ZIP_STORED) as archive:  # packed once, below
        ExcelWriter(workbook, archive).save()
    return _without_times(raw)


def _remove_samples(sheet: Worksheet) -> None:
    for merged in list(sheet.merged_cells.ranges):
        if merged.max_row >= FIRST_ROW:
            sheet.unmerge_cells(str(merged))
    sheet.delete_rows(FIRST_ROW, max(1, sheet.max_row - FIRST_ROW + 1))


def _text_style(sheet: Worksheet) -> object:
    """Return the style of text cells; made once, because openpyxl looks it up for every cell."""
    cell = Cell(sheet, row=FIRST_ROW, column=1)
    cell.number_format = "@"
    return copy(cell._style)  # type: ignore[attr-defined]


def _write(cell: Cell | MergedCell, value: str | int | Decimal, text: object) -> None:
    if isinstance(value, str):
        cell.value = ESCAPE_LOOKALIKE.sub("_x005F_", value)
        # openpyxl would write =1+1 as a formula and #N/A as an error; as text it also survives editing in Excel.
        cell.data_type = "s"
        cell._style = text  # type: ignore[union-attr]
    else:
        cell.value = value


def _without_times(raw: BytesIO) -> bytes:
    packed = BytesIO()
    with ZipFile(raw) as source, ZipFile(packed, "w", ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(ZipInfo(entry.filename, STAMP.timetuple()[:6]), source.read(entry), ZIP_DEFLATED)
    return packed.getvalue()
