"""A page behind bars: it prints the documents of one owner, one after the other.

A page costs three times what a document does: its context is a renderer process of its own, with cold fonts. It is
therefore kept, but never for anybody else: what one owner's document leaves in a process, no other owner's meets. From
one document to the next there is no script to remember anything, no storage and no network; a page on which anything
else could stay is thrown away (`is_worn`). This module loads Playwright: import it late.
"""

import asyncio
import re
from base64 import b64decode
from contextlib import suppress
from typing import Any, Self

from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route

MOST_PRINTS = 100  # documents of one page; after these what it costs to make one is no longer felt
# The four bars a page stands behind (a fifth is the policy in its head): no script, no network, no request let
# through, no download. Each alone leaks something; tests/processes/pdfjobs/rendering/test_network.py shows what.
LOCKED_DOWN: dict[str, Any] = {
    "java_script_enabled": False,
    "offline": True,
    "accept_downloads": False,
    "service_workers": "block",
}
# A page on which none of these ever happened is where it was made, and holds nothing but its document.
STRAYING = ("framenavigated", "frameattached", "request", "popup", "download")
EMPTY = "<!doctype html>"
# What a document tells the browser in its own `meta` (colours, viewport, language, policies) outlives the document.
TELLING = re.compile(r"<meta(?!\s+charset=)", re.IGNORECASE)


class IsolatedPage:
    """One page, spoken to through the browser's own protocol: Playwright's calls for the same take twice as many."""

    def __init__(self, page: Page, inspector: CDPSession, frame: str) -> None:
        self.page, self._inspector, self._frame = page, inspector, frame
        self.prints, self.strayed, self._told = 0, False, False
        self._one_at_a_time = asyncio.Lock()
        for event in STRAYING:
            page.on(event, self._stray)  # type: ignore[call-overload]

    @classmethod
    async def open(cls, browser: Browser, inspector: CDPSession) -> Self:
        """Make a page in a context of its own; one at a time, as its context is known by being the new one."""
        before = await _contexts(inspector)
        context = await browser.new_context(**LOCKED_DOWN)
        try:
            await context.route("**/*", _refuse)
            (made,) = await _contexts(inspector) - before
            page = await _new_page(context, inspector, made)
            own = await context.new_cdp_session(page)
            await own.send("Page.enable")
            tree = await own.send("Page.getFrameTree")
        except Exception:
            with suppress(Exception):  # of a browser that died there is nothing to close
                await context.close()
            raise
        return cls(page, own, tree["frameTree"]["frame"]["id"])

    @property
    def is_worn(self) -> bool:
        """Tell whether the page may not be used for another document."""
        return self._told or self.strayed or self.prints >= MOST_PRINTS or self.page.is_closed()

    async def print(self, head: str, html: str, layout: dict[str, Any]) -> bytes:
        """Return the PDF of a document, under a head of ours."""
        async with self._one_at_a_time:
            self.prints += 1
            self._told = self._told or TELLING.search(html) is not None
            await self._show(head + html)
            printed = await self._inspector.send("Page.printToPDF", layout)
        return b64decode(printed["data"])

    async def empty(self) -> None:
        """Let nothing of the last document stay."""
        async with self._one_at_a_time:
            await self._show(EMPTY)

    async def close(self) -> None:
        """Throw the page away with its context, and with that its process."""
        if not self.page.is_closed():
            await self.page.context.close()

    async def _show(self, html: str) -> None:
        # Fired once all that the document holds, its images and fonts, is there.
        loaded = asyncio.Event()
        self._inspector.once("Page.loadEventFired", lambda _: loaded.set())
        await self._inspector.send("Page.setDocumentContent", {"frameId": self._frame, "html": html})
        await loaded.wait()

    def _stray(self, *_: Any) -> None:
        self.strayed = True


async def _new_page(context: BrowserContext, inspector: CDPSession, made: str) -> Page:
    """Make a page that draws no frame unless asked: nobody looks at it, and drawing takes a third of the work."""
    async with context.expect_page() as coming:
        asked = {"url": "about:blank", "browserContextId": made, "enableBeginFrameControl": True}
        await inspector.send("Target.createTarget", asked)
    return await coming.value


async def _contexts(inspector: CDPSession) -> set[str]:
    told = await inspector.send("Target.getBrowserContexts")
    return set(told["browserContextIds"])


async def _refuse(route: Route) -> None:
    await route.abort()
