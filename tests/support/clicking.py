"""A mouse whose clicks are counted, from the dashboard on."""

from playwright.sync_api import Page, expect

from tests.support.browsing import open_page

# Buttons of the mouse: a label passes its click on to its field, which would be a second one. The count outlives the
# pages of a tab.
COUNT = """
  window.addEventListener("mousedown", (event) => {
    if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks) + 1;
  }, true);
"""


class Mouse:
    """Starts on the dashboard and goes on by clicks and keys alone."""

    def __init__(self, page: Page, *, search: str = "Find rows, sites, pages") -> None:
        self.page, self.search = page, search
        page.add_init_script(COUNT)

    def start(self) -> None:
        open_page(self.page, "/admin/")
        self.page.evaluate("sessionStorage.clicks = 0")

    @property
    def clicks(self) -> int:
        return int(self.page.evaluate("sessionStorage.clicks"))

    def find(self, text: str, name: str) -> None:
        """Open the first thing that is called so, by what every page has in its sidebar."""
        self.page.get_by_role("button", name=self.search).click()
        open_found(self.page, text, name)


def open_found(page: Page, text: str, name: str) -> None:
    """Type into the search that is open, and open the first result."""
    expect(page.locator("#search-input-command")).to_be_focused()
    page.keyboard.type(text)
    expect(page.locator("#command-results-list li").first).to_contain_text(name)
    with page.expect_navigation():
        page.keyboard.press("Enter")
