"""Our own layout: the template, in any column order and either language."""

from decimal import Decimal
from io import BytesIO

import pytest
from openpyxl import load_workbook

from orchestrator.orders.order import canonical, read_order
from orchestrator.sheets.headings import COLUMNS
from orchestrator.sheets.template import template_csv, template_xlsx
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body
from tests.support.order_sheets import faults, origin, part, read, xlsx

TURKISH = ["SİPARİŞ NO", "S-9"], ["telefon:", "0555 123 45 67"]
HEADINGS = ["Adet", "PARÇA TİPİ", "Malzeme", "BOY (MM)", "en mm", "Renk", "Kalınlık", "SU", "ÜST KENAR", "Fiyat"]


def hashed(body):
    return canonical(read_order(body, default_mode="C"))


@pytest.mark.parametrize(("make", "name"), [(template_xlsx, "a.xlsx"), (template_csv, "a.csv")])
def test_the_template_decides_nothing_but_the_parts_of_its_example(make, name) -> None:
    found = read(make(), name)

    assert found.faults == []
    assert found.layout == "kilit"
    govde = {**GOVDE, "desc1": "Yan"}
    del govde["edge_dx"]
    backing = {name: value for name, value in ARKALIK.items() if name != "edge_up"}
    assert not {"opti_mode", "plate_size", "customer_snapshot_name"} & found.order.keys()
    assert hashed(found.order) == hashed(order_body(order_id="a", opti_mode="C", parts=[govde, backing]))
    assert found.cells["parts.0.length_cm"] == "D9"


def test_headings_are_found_in_any_order_and_case() -> None:
    found = read(xlsx(*TURKISH, [], HEADINGS, [2, "Gövde", "M1", 720, "560,5", "Beyaz", "18 mm", 1, "0,4", 100]))

    assert found.faults == []
    assert (found.order["order_id"], found.order["customer_phone"]) == ("S-9", "0555 123 45 67")
    assert part(found) == {
        "id": "5",
        "part_type": "GOVDE",
        "material_code": "M1",
        "length_cm": Decimal(72),
        "width_cm": Decimal("56.05"),
        "quantity": 2,
        "grain": 1,
        "color": "Beyaz",
        "thickness_mm": Decimal(18),
        "edge_up": "040",
    }
    assert origin(found, "not read") == [("Fiyat", "J4")]


def test_a_size_without_a_unit_and_a_heading_twice_are_faults() -> None:
    found = read(
        xlsx(["Boy", "En (cm)", "Adet", "Malzeme", "Renk", "Kalınlık", "En"], [72, 56, 1, "M1", "Beyaz", 18, 5])
    )

    assert list(faults(found)) == ["A1", "G1"]


def test_the_head_may_say_mode_and_priority_in_turkish() -> None:
    head = ["Mod", "b", "Öncelik:", "ACİL"], ["Revizyon: 2", "Plaka", "183x366"]
    found = read(xlsx(*head, HEADINGS, [2, "Gövde", "M1", 720, 560, "Beyaz", 18]), customer_phone="5551234567")

    assert found.faults == []
    assert (found.order["opti_mode"], found.order["priority"], found.order["revision"]) == ("B", "urgent", 2)
    assert found.order["plate_size"] == {"width_mm": 1830, "height_mm": 3660}


def test_each_fault_is_at_its_cell_in_the_order_of_the_sheet() -> None:
    rows = [[0, "dolap", "M1", 720, 560, "Beyaz", 18, 7, "x"], [1, "Gövde", None, 6000, 560, None, 18, 1, "9mm"]]
    found = read(xlsx(*TURKISH, HEADINGS, *rows), material_code="", color="", edge="")

    assert [(fault.cell, fault.field) for fault in found.faults] == [
        ("A4", "parts.0.quantity"),
        ("B4", "parts.0.part_type"),
        ("H4", "parts.0.grain"),
        ("I4", "parts.0.edge_up"),
        ("C5", "parts.1.material_code"),
        ("D5", "parts.1.length_cm"),
        ("F5", "parts.1.color"),
        ("I5", "parts.1.edge_up"),
    ]


def test_notes_totals_and_empty_rows_are_left_out_and_shown() -> None:
    row = [2, "Gövde", "M1", 720, 560, "Beyaz", 18]
    found = read(xlsx(HEADINGS, row, [], [12, None, "Toplam"], ["not: acele"], row))

    assert found.faults == []
    assert [each["id"] for each in found.order["parts"]] == ["2", "6"]
    assert origin(found, "not read")[:3] == [("Fiyat", "J1"), ("", "A4"), ("not: acele", "A5")]


def test_a_material_merged_over_rows_counts_for_each() -> None:
    rows = [[1, None, "M1", 720, 560, "Beyaz", 18], [1, None, None, 700, 500, "Beyaz", 5]]
    found = read(xlsx(HEADINGS, *rows, merged=["C2:C3"]), material_code="")

    assert found.faults == []
    assert [(each["material_code"], each["part_type"]) for each in found.order["parts"]] == [
        ("M1", "GOVDE"),
        ("M1", "ARKALIK"),
    ]


def test_both_templates_have_the_same_cells_and_every_heading_once() -> None:
    rows = [list(row) for row in load_workbook(BytesIO(template_xlsx())).active.iter_rows(values_only=True)]
    lines = [line.split(";") for line in template_csv().decode("utf-8-sig").splitlines()]

    texts = [["" if cell is None else str(cell).replace(".", ",") for cell in row] for row in rows]
    cells, written = ([list(filter(None, line)) for line in table] for table in (texts, lines))
    assert cells == written
    assert len(cells[7]) == len(set(cells[7])) == len(COLUMNS) == 15
