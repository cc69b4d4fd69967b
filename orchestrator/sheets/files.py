"""Finds out what a file is, and returns its sheets."""

import logging

from django.utils.translation import gettext as _

from orchestrator.sheets.csv_text import read_csv
from orchestrator.sheets.grid import Grid, too_large
from orchestrator.sheets.sheet_order import SheetError
from orchestrator.sheets.xlsx import read_xlsx

logger = logging.getLogger(__name__)

MEGABYTES = 5
MOST_ROWS = 20_000
ZIP, OLE = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
OTHERS = (b"%pdf", b"<html", b"<!doctype", b"<table", b"<?xml", b"{\\rtf", b"\x89png", b"\xff\xd8\xff")


def read_grids(content: bytes) -> list[Grid]:
    """Return the sheets of a file; a CSV file is one sheet."""
    if len(content) > MEGABYTES * 1024**2:
        raise SheetError(_("The file is larger than %(most)s MB.") % {"most": MEGABYTES})
    if not content.strip():
        raise SheetError(_("The file is empty."))
    if content.startswith(OLE):
        if ENCRYPTED_PACKAGE in content:
            raise SheetError(_("The file is protected with a password. Remove it in Excel, and save the file again."))
        raise SheetError(_("This is an old Excel file (.xls). In Excel, save it as .xlsx."))
    if content[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(OTHERS) or OPEN_DOCUMENT in content[:200]:
        raise SheetError(_("This is not an Excel file. Open it in Excel, and save it as .xlsx."))
    grids = _read_xlsx(content) if content.startswith(ZIP) else [read_csv(content)]
    if any(len(grid.rows) > MOST_ROWS for grid in grids):
        raise too_large()
    return grids


def _read_xlsx(content: bytes) -> list[Grid]:
    try:
        return read_xlsx(content)
    except SheetError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged files raise almost anything
        logger.info("an order's sheet cannot be read", extra={"error": type(error).__name__})
        message = _("The file is damaged, or not an Excel workbook. Open it in Excel, and save it as .xlsx.")
        raise SheetError(message) from None
