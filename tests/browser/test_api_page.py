"""The page of the API, in the dark."""

import pytest
from playwright.sync_api import expect

from tests.support.browsing import CONTRAST, open_page, settled, violations


@pytest.mark.parametrize("chosen", ["", "dark"])
def test_the_page_of_the_api_is_readable_in_the_dark(visitor, chosen) -> None:
    """By the machine's theme, or by the one chosen in the console."""
    page = visitor.enter("demo-admin", theme="light" if chosen else "dark")
    if chosen:
        page.add_init_script(f"localStorage.setItem('adminTheme', JSON.stringify('{chosen}'))")

    open_page(page, "/api/docs/")
    page.locator(".opblock").first.wait_for()
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock-body").first.wait_for()

    expect(page.locator("body")).to_have_css("background-color", "rgb(28, 32, 34)")
    assert violations(settled(page), rules=CONTRAST) == []
