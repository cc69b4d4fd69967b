"""Labels as they come out of a printer, and their QR codes."""

from pathlib import Path

import pypdfium2
import zxingcpp
from playwright.sync_api import Page, expect

from tests.support.pdf_workers import real_workers

DOTS = 203 / 72  # a label printer's resolution


def codes_on(pdf: bytes) -> list[str]:
    pages = (page.render(scale=DOTS).to_pil() for page in pypdfium2.PdfDocument(pdf))
    return [code.text for page in pages for code in zxingcpp.read_barcodes(page)]


def print_labels(page: Page, folder: Path) -> bytes:
    """Print on a job's page. What waits opens the PDF by itself; this browser, which has no viewer, downloads it."""
    page.locator("summary", has_text="Print").click()
    page.get_by_role("button", name="Labels 100 × 50 mm (roll)").click()
    expect(page.get_by_role("heading", name="The PDF is being made").first).to_be_visible()
    with page.expect_download() as downloading, real_workers(folder):
        downloading.value.save_as(folder / "labels.pdf")
    return (folder / "labels.pdf").read_bytes()
