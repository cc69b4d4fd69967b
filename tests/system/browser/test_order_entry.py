"""An order typed in the console: rows pasted from Excel, totals, a fault corrected, its job, and its labels."""

from io import BytesIO

from playwright.sync_api import Page, expect
from pypdf import PdfReader

from orchestrator.models import Job, OrderDraft
from pdfjobs.models import PdfJob
from tests.support.browsing import NARROW, open_page, overflow, settled, violations
from tests.support.drafts import NEW
from tests.support.printed_labels import codes_on, print_labels

PASTE = """(cell, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  cell.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""
# As Excel copies it, with Turkish decimals and one size that is none.
LINES = (
    "MDF-18\tBeyaz\t18\tGövde\t720\t560\t2\t1\t1mm\t1mm\t040",
    "MDF-18\tBeyaz\t18\tGövde\t562,5\t400\t4\t0\t1MM",
    "HDF-5\tBeyaz\t5\tArkalık\tabout 80\t700\t1\t0\t1mm",
)
ROWS = "".join(f"{line}\r\n" for line in LINES)


def cell(page: Page, label: str, row: int):
    return page.get_by_label(f"{label}, row {row}", exact=True)


def test_an_order_is_pasted_checked_corrected_sent_and_its_labels_are_printed(visitor, house, tmp_path) -> None:
    page = open_page(visitor.enter("demo-operator"), NEW)
    page.get_by_label("Order id", exact=True).fill("KITCHEN-7")
    page.get_by_label("Customer's name").press_sequentially("Ege Mob")
    expect(page.locator("#customer-names option")).to_have_count(1)
    page.get_by_label("Customer's name").fill("Ege Mobilya")
    expect(page.get_by_label("Customer's phone")).to_have_value("+905321112233")

    cell(page, "Material", 1).focus()
    cell(page, "Material", 1).evaluate(PASTE, ROWS)
    expect(page.locator("#order-said")).to_have_text("Pasted 3 rows.")
    expect(page.locator("#total-pieces")).to_have_text("7")
    # 0.72 × 0.56 × 2 + 0.5625 × 0.4 × 4; 0.72 × 2 × 2 + 0.5625 × 4; 0.56 × 2
    expect(page.locator("#total-area")).to_have_text("1.706 m²")
    expect(page.locator("#total-edges")).to_have_text("1mm: 5.13 m, 040: 1.12 m")
    assert violations(page) == []

    page.get_by_role("button", name="Send", exact=True).click()
    fault = cell(page, "Length", 3)
    expect(fault).to_have_attribute("aria-invalid", "true")
    expect(fault).to_have_accessible_description("Not a number.")
    assert violations(settled(page)) == []
    assert not Job.objects.filter(order_id="KITCHEN-7").exists()
    page.get_by_role("link", name="Row 3 · Length").click()
    expect(fault).to_be_focused()
    page.keyboard.type("790")
    page.keyboard.press("Enter")
    expect(cell(page, "Length", 4)).to_be_focused()

    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The order was sent.")).to_be_visible()
    job = Job.objects.get(order_id="KITCHEN-7")
    assert page.url.endswith(f"/admin/orchestrator/job/{job.pk}/change/")
    assert [(part["length_cm"], part["quantity"]) for part in job.payload["parts"]] == [
        ("72", 2),
        ("56.25", 4),
        ("79", 1),
    ]
    assert OrderDraft.objects.get(order_id="KITCHEN-7").job == job

    PdfJob.objects.expire()  # the demo's would be made first
    pdf = print_labels(page, tmp_path)
    (first, second, third) = (part["id"] for part in job.payload["parts"])
    assert codes_on(pdf) == [
        *(f"{job.pk}/{first}/{piece}" for piece in (1, 2)),
        *(f"{job.pk}/{second}/{piece}" for piece in (1, 2, 3, 4)),
        f"{job.pk}/{third}/1",
    ]
    labels = [page.extract_text() for page in PdfReader(BytesIO(pdf)).pages]
    assert "KITCHEN-7 Ege Mobilya" in labels[0]
    assert ["1mm" in label for label in labels] == [True] * 6 + [False]  # a backing has none


def test_the_grid_is_written_by_keys_alone_on_a_phone_and_warns_before_it_is_left(visitor, house) -> None:
    page = open_page(visitor.enter("demo-operator", theme="dark", width=NARROW), NEW)
    assert overflow(page) == 0
    assert violations(page) == []
    cell(page, "Length", 1).focus()
    page.keyboard.type("720")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+d")
    expect(cell(page, "Length", 2)).to_have_value("720")
    page.keyboard.press("ArrowRight")
    expect(cell(page, "Width", 2)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.type("560")
    page.get_by_role("button", name="Fill empty cells below").click()
    expect(cell(page, "Width", 2)).to_have_value("560")
    page.get_by_role("button", name="Duplicate, row 2").click()
    page.get_by_role("button", name="Remove, row 1").click()
    expect(cell(page, "Width", 2)).to_have_value("560")
    expect(cell(page, "Width", 3)).to_have_value("")

    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto("/admin/")
    assert asked == ["beforeunload"]
