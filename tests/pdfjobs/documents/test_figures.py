"""The totals of the shipped documents, and their documentation."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings as project

from pdfjobs.documents import document
from pdfjobs.rendering import PageOptions
from tests.support.template_tables import table

NAMES = ["invoice", "offer", "delivery_note", "cutting_sheet", "labels", "conversion_report"]


def test_an_invoice_adds_up_to_the_cent() -> None:
    sample = document("invoice").sample
    lines = [
        {"description": "a", "quantity": "3", "unit_price": "0.335", "tax_rate": 20},
        {"description": "b", "quantity": 1, "unit_price": 10, "tax_rate": "20.00", "discount_rate": "12.5"},
        {"description": "c", "quantity": "0.5", "unit_price": "-4", "tax_rate": 1},
    ]

    shown = document("invoice").shape(document("invoice").model.read(sample | {"lines": lines}))

    assert [line["amount"] for line in shown["lines"]] == ["₺1,01", "₺8,75", "−₺2,00"]
    assert (shown["subtotal"], shown["discount"], shown["net"]) == ("₺9,01", "−₺1,25", "₺7,76")
    assert shown["taxes"] == [
        {"rate": "%1", "base": "−₺2,00", "amount": "−₺0,02"},
        {"rate": "%20", "base": "₺9,76", "amount": "₺1,95"},
    ]
    assert shown["total"] == "₺9,69"


def test_a_cutting_sheet_counts_boards_and_bands() -> None:
    kind = document("cutting_sheet")
    material = {
        "name": "MDF",
        "board_length": 2000,
        "board_width": 1000,
        "parts": [{"name": "Raf", "length": 1000, "width": 500, "quantity": 9, "long_edges": 1, "short_edges": 2}],
    }
    variables = kind.sample | {"materials": [material], "waste_rate": 0}

    shown = kind.shape(kind.model.read(variables))

    assert shown["materials"][0]["totals"] == {"pieces": "9", "area": "4,50 m²", "edges": "18,0 m", "boards": "3"}
    assert shown["materials"][0]["parts"][0]["length"] == "1000"


def test_a_report_of_a_quiet_period_divides_by_nothing() -> None:
    kind = document("conversion_report")
    variables = kind.sample | {"days": [{"day": "2026-10-01"}], "actions": [{"name": "x"}], "errors": []}

    shown = kind.shape(kind.model.read(variables))

    assert (shown["totals"]["success"], shown["actions"][0]["per_conversion"]) == ("–", "–")
    assert "Bu dönemde hata yok." in kind.html(variables)
    assert Decimal(shown["bars"][0]["good_height"]) == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_matches_the_schema(name: str) -> None:
    written = (Path(project.BASE_DIR) / "docs" / "pdf-templates.md").read_text()

    assert table(document(name).model) in written


def test_the_documentation_matches_the_page_options() -> None:
    written = (Path(project.BASE_DIR) / "docs" / "pdf-templates.md").read_text()
    example = json.loads(re.search(r"```json\n(.*?)```", written, re.DOTALL)[1])

    assert PageOptions.read(example).paper == "A4"
    assert all(f"| `{name}` |" in written for name in PageOptions.read({}).canonical())
