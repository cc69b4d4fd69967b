"""A headless browser, pages of each role, and what every page has to keep to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from pdfjobs.browser import find_browser
from tests.support import waiting

PATIENCE = waiting.PATIENCE * 1000  # milliseconds, for everything that must happen by itself on a busy machine
WIDE, NARROW = 1280, 390
SEVERE = {"serious", "critical"}
EVERY_RULE = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
CONTRAST = ("color-contrast",)  # all that differs between light and dark

# What listens to the window's size has heard of it, letters and icons are there, and no colour is on its way.
SETTLED = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const ending = document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled([document.fonts.ready, ...ending.map((each) => each.finished)]);
}"""

# Leaves one row of each shape in a table: rows with the same elements, classes and attributes differ in text only,
# and axe compares the colours of each element with all that might lie below it.
ROW_OF_EACH_SHAPE = """() => {
  const shape = (element) => `${element.tagName} ${element.getAttribute("class")} ${element.getAttributeNames()}`;
  for (const body of document.querySelectorAll("tbody")) {
    const seen = new Set();
    for (const row of [...body.rows]) {
      const shapes = [row, ...row.querySelectorAll("*")].map(shape).join();
      if (seen.has(shapes)) row.remove();
      seen.add(shapes);
    }
  }
}"""

# Runs in every page before its own scripts: what the policy has stopped.
WATCH = """
window.stopped = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.stopped.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
});
"""

expect.set_options(timeout=PATIENCE)


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Run one browser; while it runs, Django lets the database be used beside Playwright's own loop."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=find_browser(), args=["--no-sandbox"], timeout=PATIENCE
            )
            try:
                yield browser
            finally:
                connections.close_all()  # not those of other tests: while a loop runs, Django has some of its own
                browser.close()
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")
        if before is not None:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@dataclass
class Visitor:
    """Opens pages of the console as somebody, in some light, at some width."""

    browser: Browser
    url: str

    def __post_init__(self) -> None:
        self.contexts: list[BrowserContext] = []
        self.faults: list[str] = []

    def enter(
        self,
        username: str = "",
        *,
        theme: Literal["light", "dark"] = "light",
        width: int = WIDE,
        language: str = "en",
        zone: str = "Europe/Istanbul",
        scripts: bool = True,
    ) -> Page:
        """Return a page of a browser in which this person is logged in already; nobody without a name."""
        context = self.browser.new_context(
            base_url=self.url,
            color_scheme=theme,
            locale=language,
            timezone_id=zone,
            viewport={"width": width, "height": 900},
            reduced_motion="reduce",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        if username:
            client = Client()
            client.force_login(User.objects.get(username=username))
            context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": self.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        return page

    def leave(self) -> None:
        """Close what was opened."""
        for context in self.contexts:
            context.close()


def open_page(page: Page, address: str) -> Page:
    """Go to an address, and wait until it is drawn."""
    answer = page.goto(address)
    assert answer
    assert answer.status < 500, address
    page.wait_for_load_state("load")
    return settled(page)


def settled(page: Page) -> Page:
    """Wait until a page looks as it will: icons are words until their letters have come, and colours change slowly."""
    page.evaluate(SETTLED)
    return page


def violations(page: Page, *, rules: tuple[str, ...] = EVERY_RULE) -> list[str]:
    """Return what keeps people out, in words: the rule, how bad, and the first places."""
    if not page.evaluate("'axe' in window"):  # half a megabyte: once for each page, not for each question
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], "runOnly": list(rules)}
    found: list[Any] = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [
        f"{page.url} {fault['id']} ({fault['impact']}): {[node['html'][:160] for node in fault['nodes'][:3]]}"
        for fault in found
        if fault["impact"] in SEVERE
    ]


def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def watched(page: Page, complaints: list[str]) -> Page:
    """Return the page, with all that the policy stops written down."""

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            complaints.append(f"{page.url}: {message.text}")

    page.on("console", note)
    page.context.add_init_script(WATCH)
    page.set_default_timeout(PATIENCE)
    return page


def stopped(page: Page) -> list[str]:
    return [f"{page.url}: {fault}" for fault in page.evaluate("window.stopped")]
