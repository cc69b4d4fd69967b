"""The store on a phone: a rack's code is scanned, its boards are counted, and an offcut is taken out."""

import os
from io import BytesIO
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page, expect

from orchestrator.models import Customer
from tests.support.browsing import NARROW, WIDE, open_page, overflow, violations
from tests.support.cutting_runs import work_until
from tests.support.stock import HALF, MATERIAL, RULES, SMALL, in_state, kind_of_board, offcut, ordered, plan_quickly

BOARDS, OFFCUTS = "/admin/orchestrator/boardkind/", "/admin/orchestrator/stockitem/"
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture
def shop(house, floor, rules_file, monkeypatch) -> None:
    rules_file.write_text(RULES)
    plan_quickly(monkeypatch)
    Customer.objects.get_or_create(phone="+905551234567", defaults={"name": "Ayşe Yılmaz"})


def look(page: Page, name: str) -> None:
    assert violations(page) == []
    assert overflow(page) == 0
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.mark.usefixtures("shop")
def test_a_rack_is_scanned_and_its_boards_are_counted(visitor) -> None:
    kind = kind_of_board(12, place="R1", least=15)
    work_until(ordered(HALF), "XML_READY")
    desk = open_page(visitor.enter("demo-operator"), f"{BOARDS}{kind.pk}/label/")
    (code,) = zxingcpp.read_barcodes(Image.open(BytesIO(desk.screenshot())))

    phone = open_page(visitor.enter("demo-operator", width=NARROW, language="tr"), code.text)
    look(phone, "count-phone-tr")
    phone.get_by_label("Sayılan adet").fill("10")
    phone.get_by_role("button", name="Kaydet").click()

    expect(phone.get_by_text("Sayım 10: beklenenden 2 eksik.")).to_be_visible()
    assert in_state(board=kind) == {"AVAILABLE": 9, "RESERVED": 1, "SCRAPPED": 2}


@pytest.mark.usefixtures("shop")
@pytest.mark.nightly  # by day, one page of each kind in test_access.py
def test_the_pages_of_the_store_are_readable_everywhere(visitor) -> None:
    kind, item = kind_of_board(3, place="R1", least=5), offcut(place="R2")
    kind_of_board(0, **{**MATERIAL, "material_code": "Suntalam Bamboo 5501", "color": "Antrasit Ceviz"})
    job = work_until(ordered(SMALL, {**HALF, "quantity": 4}), "XML_READY")
    pages = {
        "boards": BOARDS,
        "board": f"{BOARDS}{kind.pk}/change/",
        "add": f"{BOARDS}add/",
        "receive": f"{BOARDS}{kind.pk}/receive/",
        "offcuts": OFFCUTS,
        "offcut": f"{OFFCUTS}{item.pk}/change/",
        "take-out": f"{OFFCUTS}{item.pk}/take-out/",
        "labels": f"{OFFCUTS}labels/{job.pk}/",
        "job": f"/admin/orchestrator/job/{job.pk}/change/",
        "dashboard": "/admin/",
    }
    for width, language in ((WIDE, "en"), (NARROW, "tr"), *(((WIDE, "tr"), (NARROW, "en")) if PICTURES else ())):
        page = visitor.enter("demo-operator", width=width, language=language)
        for name, address in pages.items():
            look(open_page(page, address), f"{name}-{width}-{language}")
