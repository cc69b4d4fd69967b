"""Buttons that copy: under the page's policy, and heard by screen readers."""

from playwright.sync_api import expect

from tests.support.browsing import open_page


def test_a_copied_key_is_announced(visitor, house) -> None:
    page = open_page(visitor.enter("demo-admin"), f"/admin/ociqueue/site/{house.site.pk}/ads-script/")
    page.get_by_role("button", name="Issue a key: Ads Script").click()
    key = page.locator("code", has_text="kilit_").inner_text()

    page.get_by_role("button", name="Copy: the new key").click()

    expect(page.locator("p[role=status].kilit-unseen")).to_have_text("Copied")
    page.goto("/admin/ociqueue/conversion/")
    page.locator("#searchbar").focus()
    page.keyboard.press("Control+V")
    expect(page.locator("#searchbar")).to_have_value(key)
