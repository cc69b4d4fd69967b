"""The page of the API, in light and dark."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.browsing import CONTRAST, NARROW, open_page, overflow, settled, violations

DARK = "rgb(28, 32, 34)"


def drawn(page: Page) -> Page:
    """Open the page, and wait until it is drawn from the schema."""
    open_page(page, "/api/docs/").locator(".opblock").first.wait_for()
    return settled(page)


@pytest.mark.nightly  # it draws more than a hundred operations
def test_the_page_of_the_api_keeps_nobody_out_and_is_dark_where_that_is_chosen(visitor) -> None:
    page = drawn(visitor.enter("demo-admin"))
    assert violations(page) == []
    page.set_viewport_size({"width": NARROW, "height": 900})
    assert overflow(settled(page)) == 0

    page.evaluate("localStorage.setItem('adminTheme', JSON.stringify('dark'))")
    expect(drawn(page).locator("body")).to_have_css("background-color", DARK)


@pytest.mark.nightly  # it draws more than a hundred operations again
def test_the_page_of_the_api_is_readable_in_the_dark(visitor) -> None:
    page = drawn(visitor.enter("demo-admin", theme="dark"))
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock-body").first.wait_for()

    expect(page.locator("body")).to_have_css("background-color", DARK)
    assert violations(settled(page), rules=CONTRAST) == []
