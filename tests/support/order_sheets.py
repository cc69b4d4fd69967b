"""Order sheets as customers send them, made with openpyxl, and what is read from them."""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.files.uploadedfile import SimpleUploadedFile
from openpyxl import Workbook
from openpyxl.utils.datetime import WINDOWS_EPOCH

from orchestrator.sheets.reading import read_sheet
from orchestrator.sheets.sheet_order import SheetDefaults, SheetOrder
from tests.support.api import Api
from tests.support.cutting_rules import rules_with

NAME = "mutfak-12.xlsx"
GIVEN = SheetDefaults(customer_phone="0555 123 45 67", material_code="MAT-01", color="Beyaz", edge="1mm")
SAID = {"customer_phone": "0555 123 45 67", "material_code": "MAT-01", "edge": "0,4"}
KITCHEN = [
    ["MUTFAK DOLABI 18MM"],
    ["RENK:", "Antrasit", "210*280"],
    ["BANT: 0.40mm", None, "MALZEME: MAT-07"],
    ["Tel:", 5551234567],
    ["KALINLIK", "BOY", "EN", "ADET", "SU", "U1", "U2", "K1", "K2", "DELİK", None, "NOT"],
    [None, 720, 560.5, 2, 1, "x", "yok", None, "1MM", "D1", "D2", "yan"],
    [],
    ["ARKALIK 5MM", "700,5", "500", 1],
    ["raf", 564, 300, 4, 0, 1, 0, "HAYIR", False],
    ["TOPLAM", None, None, 7],
    ["Teşekkürler"],
]


def xlsx(
    *rows: Sequence[Any], merged: Sequence[str] = (), epoch: datetime = WINDOWS_EPOCH, **more: Sequence[Sequence[Any]]
) -> bytes:
    """Return a workbook; `more` are further sheets by name."""
    workbook = Workbook()
    workbook.epoch = epoch
    sheet: Any = workbook.active
    sheet.title = "Liste"
    for row in rows:
        sheet.append(row)
    for area in merged:
        sheet.merge_cells(area)
    for name, others in more.items():
        sheet = workbook.create_sheet(name.removeprefix("hidden_"))
        sheet.sheet_state = "hidden" if name.startswith("hidden_") else "visible"
        for row in others:
            sheet.append(row)
    packed = BytesIO()
    workbook.save(packed)
    return packed.getvalue()


LIST = xlsx(["18MM", "RENK: Beyaz"], [None, 720, 560, 2, 1, "x"], ["ARKALIK 5", 700, 500, 1])


def send(api: Api, content: bytes = LIST, name: str = NAME, **fields: str) -> Any:
    """Send a sheet over the API, with what it does not say."""
    body = {"file": SimpleUploadedFile(name, content), **SAID, **fields}
    return api.client.post("/jobs/import", body, headers=api.headers)


def with_part(content: bytes, name: str, change: Any) -> bytes:
    """Return a workbook in which one of its XML parts is changed."""
    packed = BytesIO()
    with ZipFile(BytesIO(content)) as source, ZipFile(packed, "w", ZIP_DEFLATED) as target:
        for entry in source.infolist():
            part = source.read(entry)
            target.writestr(entry.filename, change(part) if entry.filename == name else part)
    return packed.getvalue()


def read(content: bytes, name: str = NAME, *, sheet: str = "", **given: Any) -> SheetOrder:
    """Read a sheet by the shipped rules; what lists do not say is given."""
    defaults = SheetDefaults(**{**vars(GIVEN), "thickness_mm": None, **given})
    return read_sheet(name, content, rules_with(), defaults=defaults, sheet=sheet)


def read_list(*rows: Sequence[Any], merged: Sequence[str] = (), **given: Any) -> SheetOrder:
    return read(xlsx(*rows, merged=merged), **given)


def faults(found: SheetOrder) -> dict[str, str]:
    """Return the faults by cell, and without a cell by field."""
    return {fault.cell or fault.field: fault.message for fault in found.faults}


def part(found: SheetOrder, number: int = 0) -> dict[str, Any]:
    parts: list[dict[str, Any]] = found.order["parts"]
    return parts[number]


def origin(found: SheetOrder, field: str) -> list[tuple[str, str]]:
    """Return the values of a field that were taken from elsewhere, and their cell or kind of origin."""
    return [(each.value, each.cell or each.origin.value) for each in found.sources if each.field == field]
