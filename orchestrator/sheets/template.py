"""The template of our own layout, as XLSX and CSV: empty fields of the order, and an example of parts to replace."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from orchestrator.sheets.headings import COLUMNS

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SHEET = "Sipariş"
# English after Turkish: both are recognised, alone or together.
# Without values: an example that somebody leaves in would decide over an order. What is empty, the rules decide.
HEAD = (
    "Sipariş no / Order id",
    "Müşteri telefonu / Customer phone",
    "Müşteri / Customer",
    "Mod / Mode",
    "Plaka / Plate",
    "Termin / Due date",
)
HEADINGS = {
    "id": "Parça no / Part id",
    "part_type": "Parça tipi / Part type",
    "material_code": "Malzeme kodu / Material code",
    "length_cm": "Boy / Length (cm)",
    "width_cm": "En / Width (cm)",
    "quantity": "Adet / Quantity",
    "grain": "Desen yönü / Grain",
    "color": "Renk / Color",
    "thickness_mm": "Kalınlık / Thickness (mm)",
    "edge_up": "Üst kenar / Edge up",
    "edge_lo": "Alt kenar / Edge lo",
    "edge_sx": "Sol kenar / Edge sx",
    "edge_dx": "Sağ kenar / Edge dx",
    "iidesc": "Delik kodu / Drill code",
    "desc1": "Not / Note",
}
EXAMPLES: tuple[tuple[object, ...], ...] = (
    ("g1", "GOVDE", "MAT-01", 120.5, 40, 2, 1, "Beyaz", 18, "1mm", "1mm", "040", None, None, "Yan"),
    ("a1", "ARKALIK", "MAT-02", 118, 38.25, 1, 0, "Beyaz", 5, None, None, None, None, None, None),
)
WIDTH = 18


def template_rows() -> Iterator[tuple[object, ...]]:
    yield from ((label, None) for label in HEAD)
    yield ()
    yield tuple(HEADINGS[name] for name in COLUMNS)
    yield from EXAMPLES


def template_xlsx() -> bytes:
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    workbook = Workbook()
    sheet: Any = workbook.active
    sheet.title = SHEET
    for row in template_rows():
        sheet.append(row)
    for row in sheet.iter_rows():
        for cell in row:
            if isinstance(cell.value, str):
                cell.number_format = "@"  # Excel would make the number 40 of 040
    headings = len(HEAD) + 2
    for cell in [*sheet[headings], *(row[0] for row in sheet.iter_rows(max_row=len(HEAD)))]:
        cell.font, cell.alignment = Font(bold=True), Alignment(wrap_text=True, vertical="top")
    for column in range(1, len(COLUMNS) + 1):
        sheet.column_dimensions[get_column_letter(column)].width = WIDTH
    sheet.freeze_panes = sheet.cell(headings + 1, 1)
    packed = BytesIO()
    workbook.save(packed)
    return packed.getvalue()


def template_csv() -> bytes:
    """Return the template as Excel in Turkey writes CSV: semicolons and decimal commas."""
    lines = [";".join(map(_csv_cell, row)) for row in template_rows()]
    return "\ufeff".encode() + "\r\n".join([*lines, ""]).encode()


def _csv_cell(cell: object) -> str:
    return str(cell).replace(".", ",") if isinstance(cell, float) else "" if cell is None else str(cell)
