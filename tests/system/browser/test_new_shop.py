"""A new shop without OptiPlanning and without a saw: from a customer's Excel list to cut boards, in Turkish."""

import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from orchestrator.cutting import solving
from orchestrator.models import Job
from orchestrator.workflow import planning_step
from tests.support.browsing import NARROW, WIDE, overflow
from tests.support.clicking import Mouse
from tests.support.cutting_rules import COMPANY, PRICES, SHIPPED
from tests.support.cutting_runs import work_until
from tests.support.order_sheets import xlsx
from tests.support.pdf_workers import real_workers
from tests.support.printed_labels import codes_on

PICTURES = os.environ.get("PICTURES", "")
RULES = {**SHIPPED, "cutBy": "hand", "optiModeDefault": "D", "cutting": {}, "prices": PRICES, "company": COMPANY}
LIST = [
    ["Müşteri", "Yıldız Mutfak"],
    ["Telefon", "0532 765 43 21"],
    ["Malzeme", "Suntalam"],
    ["Renk", "Beyaz"],
    ["Kalınlık", 18],
    ["Bant", "1mm"],
    [],
    ["Parça", "Boy", "En", "Adet", "Su", "Üst", "Alt", "Sol", "Sağ"],
    ["yan", 720, 560, 8, 1, "x", None, None, None],
    ["alt-ust", 764, 560, 8, 0, "x", None, None, None],
    ["raf", 762, 520, 6, 0, "x", None, None, None],
    ["kapak", 716, 397, 8, 1, "x", "x", "x", "x"],
]
PIECES = 30


def look(page: Page, name: str) -> None:
    assert overflow(page) == 0, name
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def choose_file(page: Page, folder: Path) -> None:
    (folder / "yildiz-mutfak.xlsx").write_bytes(xlsx(*LIST))
    with page.expect_file_chooser() as chooser:
        page.locator("label[for=id_file]").last.click()
    chooser.value.set_files(folder / "yildiz-mutfak.xlsx")


def print_paper(page: Page, title: str, path: Path) -> bytes:
    page.locator("summary", has_text="Yazdır").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name=title).click()
    downloading.value.save_as(path)
    if PICTURES:
        downloading.value.save_as(Path(PICTURES) / path.name)
    return path.read_bytes()


def order_cut_and_finish(page: Page, folder: Path, width: int) -> int:
    """Do all of it; return the clicks."""
    mouse = Mouse(page, search="Satır, site, sayfa bul")
    mouse.start()
    look(page, f"1-dashboard-{width}")
    if width == NARROW:
        page.locator("button[aria-label^='Kenar çubuğu']:visible").first.click()
    page.get_by_role("link", name=re.compile("^İşler")).first.click()
    look(page, f"2-jobs-{width}")
    page.get_by_role("link", name="Yeni sipariş").click()
    look(page, f"2-new-{width}")
    page.get_by_role("link", name="Tablo içe aktar").click()
    look(page, f"3-import-{width}")
    choose_file(page, folder)
    page.get_by_role("button", name="Tabloyu oku").click()
    expect(page.get_by_text("Gönderilmeye hazır")).to_be_visible()
    look(page, f"4-order-{width}")
    page.get_by_role("button", name="Gönder", exact=True).click()
    expect(page.get_by_text("Sipariş gönderildi.")).to_be_visible()
    job = Job.objects.get(order_id="yildiz-mutfak")
    work_until(job, "HOLD", "XML_READY", "FAILED")
    look(page, f"5-sent-{width}")
    page.locator(".kilit-primary").click()
    work_until(job, "XML_READY", "FAILED")
    page.reload()
    look(page, f"6-planned-{width}")
    for title, name in (("Kesim listesi", "sheet"), ("100 × 50", "labels")):
        print_paper(page, title, folder / f"{name}.pdf")
        look(page, f"7-{name}-{width}")
        page.get_by_role("link", name="İşe dön").click()
    page.locator(".kilit-primary", has_text="Elle kesildi").click()
    look(page, f"8-cut-{width}")
    page.locator("#content form button[type=submit]").click()
    expect(page.get_by_text("Kesildi olarak kaydedildi")).to_be_visible()
    look(page, f"9-done-{width}")
    assert Job.objects.get(pk=job.pk).status == "DONE"
    return mouse.clicks


@pytest.fixture
def shop(house, floor, rules_file, monkeypatch) -> None:
    rules_file.write_text(json.dumps(RULES))
    monkeypatch.setattr(planning_step, "SECONDS", 3)


@pytest.mark.nightly
@pytest.mark.usefixtures("shop")
@pytest.mark.skipif(bool(solving.missing()), reason="the optimiser needs Python 3.12")
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_list_is_planned_printed_and_cut_with_few_clicks(visitor, tmp_path, width) -> None:
    page = visitor.enter("demo-operator", width=width, language="tr")

    with real_workers(tmp_path):
        clicks = order_cut_and_finish(page, tmp_path, width)

    assert clicks == (15 if width == WIDE else 16)  # on a phone the menu is opened first
    assert len(codes_on((tmp_path / "labels.pdf").read_bytes())) == PIECES
    sheet = PdfReader(tmp_path / "sheet.pdf")
    text = "".join(page.extract_text() for page in sheet.pages)
    assert "Yıldız Mutfak" in text
