"""The Excel template: one sheet with twelve tags, and nothing else in the first row."""

import unicodedata
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from django.conf import settings

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.folders import read_bounded

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "ŞABLON"
# EGDE is misspelt in OptiPlanning too.
TAGS = (
    "[P_CODE_MAT]",
    "[P_LENGTH]",
    "[P_WIDTH]",
    "[P_MINQ]",
    "[P_GRAIN]",
    "[P_IDESC]",
    "[P_EDGE_MAT_UP]",
    "[P_EGDE_MAT_LO]",
    "[P_EDGE_MAT_SX]",
    "[P_EDGE_MAT_DX]",
    "[P_IIDESC]",
    "[P_DESC1]",
)
FIRST_ROW = 3  # of data, below the tags and the headings
BIGGEST_FILE = 5 * 1024**2
MOST_UNPACKED = 50 * 1024**2  # a small zip can expand to gigabytes


def check_template(path: Path) -> None:
    open_template(read_template(path))


def is_template_invalid() -> bool:
    """Return whether this machine sees that the template cannot be used."""
    if settings.FLOOR_IS_HERE:
        try:
            check_template(settings.OPTI_TEMPLATE)
        except JobError:
            return True
    return False


def read_template(path: Path) -> bytes:
    try:
        return read_bounded(path, most=BIGGEST_FILE)
    except ValueError as error:
        raise _invalid(f"{path.name} {error}") from None


def open_template(content: bytes) -> "tuple[Workbook, Worksheet]":
    from openpyxl import load_workbook

    try:
        # zipfile never extracts more than the sizes in the archive's directory.
        with ZipFile(BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        workbook = load_workbook(BytesIO(content)) if unpacked <= MOST_UNPACKED else None
    except Exception as error:  # noqa: BLE001 - openpyxl raises almost anything for a broken file
        raise _invalid(sentences.NOT_XLSX % {"error": type(error).__name__}) from None
    if workbook is None:
        raise _invalid(sentences.EXPANDS % {"size": MOST_UNPACKED // 1024**2})
    sheet = next((s for s in workbook.worksheets if unicodedata.normalize("NFC", s.title) == SHEET), None)
    if sheet is None:
        raise _invalid(sentences.NO_SHEET % {"sheet": SHEET, "sheets": ", ".join(workbook.sheetnames)})
    tags = [cell.value for cell in next(sheet.iter_rows(min_row=1, max_row=1), ())]
    for column, (tag, value) in enumerate(zip_longest(TAGS, tags), start=1):
        if value != tag:
            place = sheet.cell(1, column).coordinate
            cell = {"place": place, "tag": tag or sentences.EMPTY, "value": repr(value) if value else sentences.EMPTY}
            raise _invalid(sentences.OTHER_CELL % cell)
    return workbook, sheet


def _invalid(reason: str) -> JobError:
    return JobError(Code.TEMPLATE_INVALID, sentences.NO_TEMPLATE % {"reason": reason})
