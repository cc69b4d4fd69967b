"""A failed job is found, retried and read by keys alone: nothing here clicks, and nothing sets the focus."""

from playwright.sync_api import Page, expect

from ociqueue.models import Conversion
from tests.support.browsing import open_page
from tests.support.conversions import make_failed

LABEL = "(document.activeElement.ariaLabel || document.activeElement.innerText || '').trim()"
IS_SEEN = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== "none" || style.boxShadow !== "none";
}"""


def tab_to(page: Page, name: str, *, within: str, most: int = 90) -> None:
    """Press Tab until something of that name has the focus, and see that it shows."""
    for _ in range(most):
        page.keyboard.press("Tab")
        is_there = page.evaluate("(part) => !!document.activeElement.closest(part)", within)
        if is_there and name in str(page.evaluate(LABEL)):
            assert page.evaluate(IS_SEEN), f"the focus on {name} is invisible"
            return
    raise AssertionError(f"Tab never reaches {name}")


def test_a_failed_job_is_found_retried_and_read_by_keys_alone(visitor, house) -> None:
    (failed,) = make_failed(house.site, code="UPLOAD_EXCEPTION", category="TRANSIENT", source_key="SIP-7781")
    page = open_page(visitor.enter("demo-operator"), "/admin/")

    page.keyboard.press("Control+k")
    expect(page.locator("#search-input-command")).to_be_focused()
    page.keyboard.type("sip-77")
    results = page.locator("#command-results-list li")
    expect(results).to_have_count(1)  # those of the first letters may come first, on a slow machine
    expect(results).to_contain_text("Failed")
    page.keyboard.press("ArrowDown")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="SIP-7781", exact=True)).to_be_visible()

    tab_to(page, "Retry", within="#job-actions")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("Retried 1 of 1.")).to_be_visible()

    tab_to(page, "", within="#timeline summary")
    page.keyboard.press("Enter")
    newest = page.locator("#timeline > li").first
    expect(newest).to_contain_text("Retried by demo-operator")
    expect(newest.locator("details")).to_have_attribute("open", "")
    assert Conversion.objects.get(pk=failed.pk).status == "QUEUED"
