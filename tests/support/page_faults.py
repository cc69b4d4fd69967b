"""What is wrong with a page that is open in a browser."""

from playwright.sync_api import Page

from tests.support.browsing import CONTRAST, NARROW, ROW_OF_EACH_SHAPE, WIDE, overflow, settled, stopped, violations

# The same on every page, and most of its elements.
WITHOUT_SIDEBAR = "document.querySelector('#nav-sidebar')?.remove()"


def faults(page: Page, name: str) -> list[str]:
    """Return what is wrong with the page that is open: what its policy stops, who is kept out, what is too wide.

    One visit for all, because pages take longer to come than to be looked over.
    """
    found = []
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        if pixels := overflow(settled(page)):
            found.append(f"{name} is {pixels} pixels wider than {width}")
    page.evaluate(ROW_OF_EACH_SHAPE)
    if name != "dashboard":
        page.evaluate(WITHOUT_SIDEBAR)
    found += [*stopped(page), *violations(page)]
    page.evaluate("document.documentElement.classList.add('dark')")  # as the switch does
    return found + [f"dark: {fault}" for fault in violations(settled(page), rules=CONTRAST)]
