"""The browser of one render thread: started when needed, replaced when it fails, with pages kept and made ahead.

Everything here runs in the render thread's event loop, save `kill` and `leave`.
This module loads Playwright: import it late.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import psutil
from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from pdfjobs.rendering.chromium import LAUNCH_LIMIT, launch_arguments
from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.isolated_page import IsolatedPage
from pdfjobs.rendering.processes import is_driver, is_up, kill, kill_tree
from pdfjobs.states import ErrorCode

RECYCLE_AFTER = 300  # jobs; a browser grows for as long as that, and no further
CLOSE_LIMIT = 5.0  # seconds
A_MOMENT = 0.05  # seconds
EMPTY_AFTER = 1.0  # seconds without another document
MOST_KEPT = 4  # owners whose page is kept; each is a process of some 60 MB
Answer = TypeVar("Answer")
Owner = int | str
Page = tuple[str, str]  # a head of ours, and the document
GONE = ("closed", "crash", "disconnected", "Printing failed")  # in what Playwright says of a browser or page that died


class BrowserManager:
    """One browser at a time."""

    def __init__(self) -> None:
        self.jobs = 0
        self.browser: psutil.Process | None = None
        self.driver: psutil.Process | None = None
        self._drivers: list[psutil.Process] = []  # those that were given up, too, until they are gone
        self._doomed = self._left = False
        self._playwright: Playwright | None = None
        self._connection: Browser | None = None
        self._death = asyncio.Event()
        self._launching = asyncio.Lock()
        self._inspector: CDPSession | None = None
        self._opening = asyncio.Lock()
        self._spare: asyncio.Task[IsolatedPage] | None = None
        self._kept: dict[Owner, IsolatedPage] = {}  # the one used last is last
        self._chores: set[asyncio.Task[Any]] = set()

    async def print(self, page: Page, layout: dict[str, Any], *, limit: float, owner: Owner | None = None) -> bytes:
        """Return the PDF, of a page that no other owner's document ever sees; after the limit the browser is killed."""
        tab = None
        try:
            await self._launched()
            async with asyncio.timeout(limit):
                self.jobs += 1
                tab, pdf = await self._print(page, layout, owner)
                return pdf
        except RenderError:
            raise
        except Exception as error:  # noqa: BLE001 - a dead driver is told as a bare Exception
            raise self._fault(error, limit) from None
        finally:
            self._put_back(tab, owner)

    async def _print(self, page: Page, layout: dict[str, Any], owner: Owner | None) -> tuple[IsolatedPage, bytes]:
        while True:
            tab = await self._take(owner)
            try:
                pdf = await self._while_alive(tab.print(*page, layout))
            except BaseException:
                self._later(tab.close())
                raise
            if not tab.strayed or tab.prints == 1:
                return tab, pdf
            # An earlier document may have led the page away under this one: only a fresh page is believed.
            self._later(tab.close())

    def kill(self) -> None:
        """End the browser at once, from any thread; the next page gets a new one."""
        self._doomed = True
        kill(self.browser)

    def leave(self) -> None:
        """End all of it for good, from any thread: should its own come to life again, it starts nothing more."""
        self._left = True
        self.kill()
        kill_tree(self.driver)

    async def stop(self) -> None:
        connection, self._connection, browser = self._connection, None, self.browser
        if connection is None:
            return
        try:
            async with asyncio.timeout(CLOSE_LIMIT):
                await connection.close()
        except (TimeoutError, Error):
            kill(browser)

    async def end(self) -> None:
        for chore in self._chores:
            chore.cancel()
        await self.stop()
        if self._playwright and is_up(self.driver):
            await self._playwright.stop()
        await self._buried()

    async def _buried(self) -> None:
        """Wait until the loop has heard of each driver's end: one that ends before it leaves them to nobody."""
        for _ in range(round(CLOSE_LIMIT / A_MOMENT)):
            gone = not any(driver.is_running() for driver in self._drivers)
            await asyncio.sleep(A_MOMENT)  # also when they are gone: it is told a moment later
            if gone:
                return

    def _fault(self, error: Exception, limit: float) -> RenderError:
        if isinstance(error, TimeoutError):
            # `page.pdf` knows no timeout, and a page that hangs takes its browser along: only a kill ends it.
            self.kill()
            return RenderError(
                ErrorCode.NAVIGATION_TIMEOUT, f"The page was not done after {limit:g} s; its browser was killed."
            )
        told = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if any(word in told for word in GONE) or not self._alive():
            # Whatever it stumbled over, it was of a browser that is gone: worth another try.
            self.kill()
            return RenderError(ErrorCode.BROWSER_CRASHED, f"The browser crashed while rendering: {told}")
        if "range" in told.lower():
            return RenderError(ErrorCode.TEMPLATE_ERROR, f"The pages asked for are not in the document: {told}")
        return RenderError(ErrorCode.UNKNOWN, told)

    async def _launched(self) -> None:
        """Have a browser before the job's own time begins: a cold worker needs seconds that a short limit has not."""
        try:
            async with asyncio.timeout(LAUNCH_LIMIT), self._launching:
                await self._running()
        except TimeoutError:
            words = f"Chromium did not start: not up after {LAUNCH_LIMIT:g} s"
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, words) from None

    async def _take(self, owner: Owner | None) -> IsolatedPage:
        """Return the owner's page, else the one made ahead, if its browser still lives, else a new one."""
        kept = None if owner is None else self._kept.pop(owner, None)
        if kept and self._is_usable(kept):
            return kept
        spare, self._spare = self._spare, None
        busy = spare is not None and not spare.done()
        tab = None
        if spare and self._alive():
            try:
                tab = await spare
            except (Error, RenderError):
                tab = None  # its browser died or did not start; try once more, now on the job's account
        if tab is None or not self._is_usable(tab):
            tab = await self._open()
        if busy and self.jobs < RECYCLE_AFTER:
            self._prepare()  # jobs come faster than pages: make the next one beside this job, not after it
        return tab

    def _is_usable(self, tab: IsolatedPage) -> bool:
        """Tell whether a page can take a document; one made ahead may be of a browser that died, and not know it."""
        return not tab.is_worn and self._alive() and tab.page.context.browser is self._connection

    def _prepare(self) -> None:
        # Not after a failed launch: another one in the background would keep the next job waiting.
        if self._spare is None and self._playwright:
            self._spare = self._later(self._open())

    async def _open(self) -> IsolatedPage:
        async with self._launching:
            browser = await self._running()
        async with self._opening:
            assert self._inspector  # noqa: S101 - it comes with the browser
            tab = await self._while_alive(IsolatedPage.open(browser, self._inspector))
        death = self._death
        tab.page.on("crash", lambda _: death.set())
        return tab

    async def _while_alive(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for the browser's answer, but not for a dead one's: Playwright forgets some calls when it dies."""
        answer, death = asyncio.ensure_future(work), asyncio.ensure_future(self._death.wait())
        try:
            await asyncio.wait({answer, death}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise RenderError(ErrorCode.BROWSER_CRASHED, "The browser crashed while rendering.")
            return answer.result()
        finally:
            answer.cancel()
            death.cancel()

    def _alive(self) -> bool:
        """Tell whether the browser can be given a page."""
        healthy = not self._doomed and not self._death.is_set() and is_up(self.driver) and is_up(self.browser)
        return bool(healthy and self._connection and self._connection.is_connected())

    async def _running(self) -> Browser:
        """Return the browser, started if there is none."""
        if self._left:
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, "Nobody waits for this browser any more.")
        if self._connection and self._alive():
            return self._connection
        kill(self.browser)  # half of it may still run
        self._death.set()  # told to whoever still waits for it: a driver that died tells nobody
        self._doomed, self.jobs = False, 0
        self._kept.clear()
        arguments = launch_arguments()  # a missing browser is not a failed launch: it is told as what it is
        try:
            async with asyncio.timeout(LAUNCH_LIMIT):
                if not is_up(self.driver):
                    await self._start_driver()
                self._connection = await self._start_browser(arguments)
        except (TimeoutError, OSError, Error, psutil.Error) as error:
            self._give_up()
            told = str(error).strip() or f"not up after {LAUNCH_LIMIT:g} s"
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, f"Chromium did not start: {told[:2000]}") from None
        except BaseException:
            self._give_up()  # called off in the middle: nobody would know of the driver any more
            raise
        return self._connection

    async def _start_driver(self) -> None:
        children = set(psutil.Process().children())
        try:
            self._playwright = await async_playwright().start()
        finally:  # it may run already when the start is called off
            started = set(psutil.Process().children()) - children
            self.driver = next((child for child in started if is_driver(child)), None)
            self._drivers = [driver for driver in (*self._drivers, self.driver) if driver and driver.is_running()]

    async def _start_browser(self, arguments: dict[str, Any]) -> Browser:
        assert self._playwright  # noqa: S101 - _running starts it first
        browser = await self._playwright.chromium.launch(**arguments)
        self._death = death = asyncio.Event()
        browser.on("disconnected", lambda _: death.set())
        self._inspector = await browser.new_browser_cdp_session()
        told = await self._inspector.send("SystemInfo.getProcessInfo")
        pid = next(process["id"] for process in told["processInfo"] if process["type"] == "browser")
        self.browser = psutil.Process(pid)
        return browser

    def _give_up(self) -> None:
        """Forget a driver that could not start a browser, and whatever it did start."""
        self._connection = self._playwright = None
        kill_tree(self.driver)
        self.driver = None

    def _put_back(self, tab: IsolatedPage | None, owner: Owner | None) -> None:
        """Keep a page for its owner's next document, and see to all else now that nobody waits."""
        if tab and owner is not None and not tab.is_worn and self.jobs < RECYCLE_AFTER:
            self._kept[owner] = tab
            self._later(self._rest(tab, tab.prints))
            tab = None
        self._later(self._tidy(tab))

    async def _rest(self, tab: IsolatedPage, prints: int) -> None:
        """Empty a page that nobody used since: a document must not lie in memory until the next one comes."""
        await asyncio.sleep(EMPTY_AFTER)
        if tab.prints == prints and not tab.page.is_closed():
            await self._while_alive(tab.empty())

    async def _tidy(self, tab: IsolatedPage | None) -> None:
        """Make the next page ahead of need, and throw away the one that was used up, and the one unused for longest."""
        if self.jobs >= RECYCLE_AFTER and not self._doomed:
            await self.stop()
        self._prepare()
        if tab:
            await tab.close()
        while len(self._kept) > MOST_KEPT:
            await self._kept.pop(next(iter(self._kept))).close()

    def _later(self, chore: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        # Looked at here, or Python would complain of an error that nobody asked for.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task
