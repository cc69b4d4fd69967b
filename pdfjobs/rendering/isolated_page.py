"""An isolated browser page that prints the documents of one owner, one after the other.

Creating a page costs three times as much as printing a document: its context is a renderer process of its own, with
cold fonts. It is therefore kept, but only for its owner: nothing that a document leaves in the process reaches another
owner. Between two documents no script, storage or network can keep anything; a page on which something else could
remain is discarded (`is_used_up`). This module imports Playwright, so web processes must not import it.
"""

import asyncio
import re
from base64 import b64decode
from contextlib import suppress
from typing import Any, Self

from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route

MAX_PRINTS = 100  # documents per page; by then the cost of creating it does not matter
# No script, no network, no download, no service worker. Requests are aborted and a policy is in the page's head, too:
# each alone leaves a gap; tests/processes/pdfjobs/rendering/test_network.py shows what.
CONTEXT_OPTIONS: dict[str, Any] = {
    "java_script_enabled": False,
    "offline": True,
    "accept_downloads": False,
    "service_workers": "block",
}
# Until one of these happens, the page shows only its document.
UNEXPECTED_EVENTS = ("framenavigated", "frameattached", "request", "popup", "download")
EMPTY_DOCUMENT = "<!doctype html>"
# What a document sets by `meta` (colours, viewport, language, policies) stays with the page.
META_TAG = re.compile(r"<meta(?!\s+charset=)", re.IGNORECASE)


class IsolatedPage:
    """Uses the DevTools protocol directly: Playwright needs twice as many calls for the same."""

    def __init__(self, page: Page, cdp: CDPSession, frame: str) -> None:
        self.page, self._cdp, self._frame = page, cdp, frame
        self.prints, self.is_tainted, self._had_meta = 0, False, False
        self._lock = asyncio.Lock()
        for event in UNEXPECTED_EVENTS:
            page.on(event, self._taint)  # type: ignore[call-overload]

    @classmethod
    async def open(cls, browser: Browser, cdp: CDPSession) -> Self:
        """Open a page in a context of its own. Only one at a time: its context is recognized by being the new one."""
        before = await _contexts(cdp)
        context = await browser.new_context(**CONTEXT_OPTIONS)
        try:
            await context.route("**/*", _abort)
            (context_id,) = await _contexts(cdp) - before
            page = await _new_page(context, cdp, context_id)
            own = await context.new_cdp_session(page)
            await own.send("Page.enable")
            tree = await own.send("Page.getFrameTree")
        except Exception:
            with suppress(Exception):  # the browser may be gone
                await context.close()
            raise
        return cls(page, own, tree["frameTree"]["frame"]["id"])

    @property
    def is_used_up(self) -> bool:
        return self._had_meta or self.is_tainted or self.prints >= MAX_PRINTS or self.page.is_closed()

    async def print(self, head: str, html: str, layout: dict[str, object]) -> bytes:
        async with self._lock:
            self.prints += 1
            self._had_meta = self._had_meta or META_TAG.search(html) is not None
            await self._show(head + html)
            printed = await self._cdp.send("Page.printToPDF", layout)
        return b64decode(printed["data"])

    async def empty(self) -> None:
        async with self._lock:
            await self._show(EMPTY_DOCUMENT)

    async def close(self) -> None:
        if not self.page.is_closed():
            await self.page.context.close()

    async def _show(self, html: str) -> None:
        # Fired when the images and fonts of the document are loaded.
        loaded = asyncio.Event()
        self._cdp.once("Page.loadEventFired", lambda _: loaded.set())
        await self._cdp.send("Page.setDocumentContent", {"frameId": self._frame, "html": html})
        await loaded.wait()

    def _taint(self, *_: object) -> None:
        self.is_tainted = True


async def _new_page(context: BrowserContext, cdp: CDPSession, context_id: str) -> Page:
    """Open a page that draws no frames: it is never shown, and drawing is a third of the work."""
    async with context.expect_page() as new_page:
        parameters = {"url": "about:blank", "browserContextId": context_id, "enableBeginFrameControl": True}
        await cdp.send("Target.createTarget", parameters)
    return await new_page.value


async def _contexts(cdp: CDPSession) -> set[str]:
    reply = await cdp.send("Target.getBrowserContexts")
    return set(reply["browserContextIds"])


async def _abort(route: Route) -> None:
    await route.abort()
