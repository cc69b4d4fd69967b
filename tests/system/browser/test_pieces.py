"""A label on a phone: its code is read as it is printed; its piece is cut, and a step taken back, without a login."""

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from config.papers.content import PaperRequest, paper_request
from orchestrator.models import Job
from tests.support.browsing import NARROW, WIDE, open_page, overflow, violations
from tests.support.cutting_jobs import ARKALIK, GOVDE, LIST, finished, make_job
from tests.support.cutting_rules import text_with

DOTS_PER_PIXEL = 203 / 96
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture
def job(house, rules_file, settings, visitor) -> Job:
    settings.PUBLIC_URL = visitor.url
    rules_file.write_text(text_with(labelCode="page"))
    return finished(make_job(parts=[{**GOVDE, "delik_kodu": "D-7"}, ARKALIK]))


def look(page: Page, name: str) -> None:
    assert violations(page) == []
    assert overflow(page) == 0
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def codes_of(job: Job, browser: Browser, **paper: Any) -> list[str]:
    """Return what the codes of a job's labels hold, at a label printer's resolution."""
    request = paper_request(job, "labels", PaperRequest.read(paper))
    page = browser.new_context(device_scale_factor=DOTS_PER_PIXEL).new_page()
    page.set_content("".join(request.document.pages(request.variables)), wait_until="domcontentloaded")
    picture = Image.open(BytesIO(page.screenshot(full_page=True)))
    page.context.close()
    return sorted(code.text for code in zxingcpp.read_barcodes(picture))


def test_a_label_is_scanned_and_its_piece_is_cut_without_a_login(job, visitor) -> None:
    codes = codes_of(job, visitor.browser)
    assert [code.partition("/piece/")[0] for code in codes] == [visitor.url] * 3
    assert codes == codes_of(job, visitor.browser, format="100x50")

    phone = visitor.enter(width=NARROW, language="tr", scripts=False)
    phone.goto(codes[0])
    for step in ("Kesildi", "Bantlandı"):
        phone.get_by_role("button", name=step, exact=True).click()
    expect(phone.get_by_text("✓ Bantlandı")).to_be_visible()
    phone.get_by_role("button", name="Geri al: Bantlandı").click()
    expect(phone.get_by_role("button", name="Bantlandı", exact=True)).to_be_visible()
    expect(phone.get_by_text("geri alındı")).to_be_visible()

    desk = open_page(visitor.enter("demo-operator"), f"{LIST}{job.pk}/change/")
    expect(desk.get_by_text("Cut 1 of 3 · Edged 0 of 2 · Drilled 0 of 2 · Packed 0 of 3")).to_be_visible()
    desk.get_by_text("Cut: 2 pieces are missing").click()
    look(desk, "job-en")
    for width, language in ((NARROW, "en"), (NARROW, "tr"), (WIDE, "en")):
        page = visitor.enter(width=width, language=language)
        look(open_page(page, codes[0]), f"piece-{width}-{language}")
        look(open_page(page, codes[-1]), f"backing-{width}-{language}")
    if PICTURES:
        look(open_page(visitor.enter("demo-operator", width=NARROW, language="tr"), desk.url), "job-tr")
        open_page(desk, f"{LIST}{job.pk}/piece-link/").screenshot(path=Path(PICTURES) / "link.png")
