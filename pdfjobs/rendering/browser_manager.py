"""The browser of one render thread: started when needed, replaced when it fails, with pages kept and made ahead.

Everything here runs in the render thread's event loop, except `kill` and `abandon`. This module imports Playwright, so
web processes must not import it.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import psutil
from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from kilit.workers.processes import runs
from pdfjobs.rendering.chromium import LAUNCH_LIMIT, launch_arguments
from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.isolated_page import IsolatedPage
from pdfjobs.states import ErrorCode

RECYCLE_AFTER = 300  # jobs; after that a new browser takes less memory
CLOSE_LIMIT = 5.0  # seconds
POLL_INTERVAL = 0.05  # seconds
EMPTY_AFTER = 1.0  # seconds without another document
MAX_KEPT_PAGES = 4  # one per owner; each is a process of about 60 MB
LARGE = 100_000  # bytes of HTML, after which the memory of the page's process is checked
MOST_MEMORY = 256 * 1024 * 1024  # bytes, with what it shares; of a process that has more, the page is not kept
Result = TypeVar("Result")
Owner = int | str
Html = tuple[str, str]  # our head, and the document
# Parts of Playwright's messages about a browser or page that died.
CRASH_MESSAGES = ("closed", "crash", "disconnected", "Printing failed")


def is_up(process: psutil.Process | None) -> bool:
    return process is not None and runs(process)


def is_driver(process: psutil.Process) -> bool:
    try:
        return "run-driver" in process.cmdline()
    except psutil.Error:
        return False


def kill(process: psutil.Process | None) -> None:
    """Kill a browser and its helpers: Playwright starts it as the leader of a process group."""
    if process is None or not process.is_running():  # also False when its pid was reused
        return
    with suppress(ProcessLookupError):
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)


def kill_tree(process: psutil.Process | None) -> None:
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            for child in (*process.children(recursive=True), process):
                kill(child)


class BrowserManager:
    def __init__(self) -> None:
        self.jobs = 0
        self.browser: psutil.Process | None = None
        self.driver: psutil.Process | None = None
        self._drivers: list[psutil.Process] = []  # including discarded ones, until they have exited
        self._killed = self._abandoned = False
        self._playwright: Playwright | None = None
        self._connection: Browser | None = None
        self._died = asyncio.Event()
        self._launching = asyncio.Lock()
        self._cdp: CDPSession | None = None
        self._opening = asyncio.Lock()
        self._spare_page: asyncio.Task[IsolatedPage] | None = None
        self._pages: dict[Owner, IsolatedPage] = {}  # least recently used first
        self._background: set[asyncio.Task[Any]] = set()

    async def print(self, html: Html, layout: dict[str, object], *, limit: float, owner: Owner | None = None) -> bytes:
        """Return the PDF, printed on a page of this owner. After `limit` seconds the browser is killed."""
        page = None
        try:
            await self._ensure_launched()
            async with asyncio.timeout(limit):
                self.jobs += 1
                page, pdf = await self._print(html, layout, owner)
                return pdf
        except RenderError:
            raise
        except Exception as error:  # noqa: BLE001 - Playwright raises a bare Exception when its driver died
            raise self._render_error(error, limit) from None
        finally:
            may_grow = sum(len(part) for part in html) > LARGE
            self._return_page(page, None if may_grow and self._has_grown() else owner)

    async def _print(self, html: Html, layout: dict[str, object], owner: Owner | None) -> tuple[IsolatedPage, bytes]:
        while True:
            page = await self._take_page(owner)
            try:
                pdf = await self._unless_browser_dies(page.print(*html, layout))
            except BaseException:
                self._in_background(page.close())
                raise
            if not page.is_tainted or page.prints == 1:
                return page, pdf
            # An earlier document may have navigated the page away under this one: print again on another page.
            self._in_background(page.close())

    def kill(self) -> None:
        """Kill the browser, from any thread; the next job starts a new one."""
        self._killed = True
        kill(self.browser)

    def abandon(self) -> None:
        """Kill everything permanently, from any thread. If the render thread continues later, it starts nothing."""
        self._abandoned = True
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

    async def close(self) -> None:
        for task in self._background:
            task.cancel()
        await self.stop()
        if self._playwright and is_up(self.driver):
            await self._playwright.stop()
        await self._wait_for_drivers()

    async def _wait_for_drivers(self) -> None:
        """Wait until the event loop has reaped each driver; a loop that closes earlier leaves zombies."""
        for _ in range(round(CLOSE_LIMIT / POLL_INTERVAL)):
            exited = not any(driver.is_running() for driver in self._drivers)
            await asyncio.sleep(POLL_INTERVAL)  # even if they have exited: the loop learns of it a moment later
            if exited:
                return

    def _render_error(self, error: Exception, limit: float) -> RenderError:
        if isinstance(error, TimeoutError):
            # Printing has no timeout, and a page that hangs blocks its browser: only a kill ends it.
            self.kill()
            return RenderError(
                ErrorCode.NAVIGATION_TIMEOUT, f"The page was not finished after {limit:g} s; its browser was killed."
            )
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if any(part in message for part in CRASH_MESSAGES) or not self._is_alive():
            # Whatever the error says, the browser is gone: this can be retried.
            self.kill()
            return RenderError(ErrorCode.BROWSER_CRASHED, f"The browser crashed while rendering: {message}")
        if "range" in message.lower():
            return RenderError(ErrorCode.PAGES_MISSING, message)
        return RenderError(ErrorCode.UNKNOWN, message)

    async def _ensure_launched(self) -> None:
        """Start the browser before the job's time limit begins: it may take longer than a short limit."""
        try:
            async with asyncio.timeout(LAUNCH_LIMIT), self._launching:
                await self._running_browser()
        except TimeoutError:
            message = f"Chromium did not start within {LAUNCH_LIMIT:g} s."
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, message) from None

    async def _take_page(self, owner: Owner | None) -> IsolatedPage:
        kept = None if owner is None else self._pages.pop(owner, None)
        if kept and self._is_usable(kept):
            return kept
        spare, self._spare_page = self._spare_page, None
        busy = spare is not None and not spare.done()
        page = None
        if spare and self._is_alive():
            with suppress(Error, RenderError):  # its browser died or did not start: try again below
                page = await spare
        if page is None or not self._is_usable(page):
            page = await self._new_page()
        if busy and self.jobs < RECYCLE_AFTER:
            self._prepare_spare()  # jobs arrive faster than pages are made: make the next one during this job
        return page

    def _is_usable(self, page: IsolatedPage) -> bool:
        # A spare page may belong to a browser that has died since.
        return not page.is_used_up and self._is_alive() and page.page.context.browser is self._connection

    def _has_grown(self) -> bool:
        """Return whether a page has more memory than it may: a large document leaves hundreds of megabytes."""
        with suppress(psutil.Error):
            pages = self.browser.children(recursive=True) if self.browser else []
            return any(page.memory_info().rss > MOST_MEMORY for page in pages)
        return True  # one of them has just ended

    def _prepare_spare(self) -> None:
        # Not after a failed launch: another launch in the background would delay the next job.
        if self._spare_page is None and self._playwright:
            self._spare_page = self._in_background(self._new_page())

    async def _new_page(self) -> IsolatedPage:
        async with self._launching:
            browser = await self._running_browser()
        async with self._opening:
            assert self._cdp  # noqa: S101 - set with the browser
            page = await self._unless_browser_dies(IsolatedPage.open(browser, self._cdp))
        died = self._died
        page.page.on("crash", lambda _: died.set())
        return page

    async def _unless_browser_dies(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Await work of the browser, but stop when it dies: Playwright never answers some calls of a dead browser."""
        result, died = asyncio.ensure_future(work), asyncio.ensure_future(self._died.wait())
        try:
            await asyncio.wait({result, died}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                raise RenderError(ErrorCode.BROWSER_CRASHED, "The browser crashed while rendering.")
            return result.result()
        finally:
            result.cancel()
            died.cancel()

    def _is_alive(self) -> bool:
        healthy = not self._killed and not self._died.is_set() and is_up(self.driver) and is_up(self.browser)
        return bool(healthy and self._connection and self._connection.is_connected())

    async def _running_browser(self) -> Browser:
        if self._abandoned:
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, "The render thread was abandoned.")
        if self._connection and self._is_alive():
            return self._connection
        kill(self.browser)  # parts of it may still run
        self._died.set()  # for those who still wait: a dead driver does not report it
        self._killed, self.jobs = False, 0
        self._pages.clear()
        arguments = launch_arguments()  # outside the try: a missing browser has its own error code
        try:
            async with asyncio.timeout(LAUNCH_LIMIT):
                if not is_up(self.driver):
                    await self._start_driver()
                self._connection = await self._start_browser(arguments)
        except (TimeoutError, OSError, Error, psutil.Error) as error:
            self._discard_driver()
            message = str(error).strip() or f"no answer after {LAUNCH_LIMIT:g} s"
            raise RenderError(ErrorCode.BROWSER_LAUNCH_FAILED, f"Chromium did not start: {message[:2000]}") from None
        except BaseException:
            self._discard_driver()  # cancelled in the middle: nothing else would stop the driver
            raise
        return self._connection

    async def _start_driver(self) -> None:
        children = set(psutil.Process().children())
        try:
            self._playwright = await async_playwright().start()
        finally:  # it may be running already when the start is cancelled
            started = set(psutil.Process().children()) - children
            self.driver = next((child for child in started if is_driver(child)), None)
            self._drivers = [driver for driver in (*self._drivers, self.driver) if driver and driver.is_running()]

    async def _start_browser(self, arguments: dict[str, Any]) -> Browser:
        assert self._playwright  # noqa: S101 - _running_browser starts it first
        browser = await self._playwright.chromium.launch(**arguments)
        self._died = died = asyncio.Event()
        browser.on("disconnected", lambda _: died.set())
        self._cdp = await browser.new_browser_cdp_session()
        info = await self._cdp.send("SystemInfo.getProcessInfo")
        pid = next(process["id"] for process in info["processInfo"] if process["type"] == "browser")
        self.browser = psutil.Process(pid)
        return browser

    def _discard_driver(self) -> None:
        self._connection = self._playwright = None
        kill_tree(self.driver)
        self.driver = None

    def _return_page(self, page: IsolatedPage | None, owner: Owner | None) -> None:
        """Keep a page for its owner's next document, or discard it, without making the job wait."""
        if page and owner is not None and not page.is_used_up and self.jobs < RECYCLE_AFTER:
            self._pages[owner] = page
            self._in_background(self._empty_when_idle(page, page.prints))
            page = None
        self._in_background(self._tidy_up(page))

    async def _empty_when_idle(self, page: IsolatedPage, prints: int) -> None:
        """Clear an unused page: a document must not stay in memory until the next one."""
        await asyncio.sleep(EMPTY_AFTER)
        if page.prints == prints and not page.page.is_closed():
            await self._unless_browser_dies(page.empty())

    async def _tidy_up(self, used_up: IsolatedPage | None) -> None:
        """Make a spare page, and close the one that is used up and the least recently used ones."""
        if self.jobs >= RECYCLE_AFTER and not self._killed:
            await self.stop()
        self._prepare_spare()
        if used_up:
            await used_up.close()
        while len(self._pages) > MAX_KEPT_PAGES:
            await self._pages.pop(next(iter(self._pages))).close()

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        # Retrieve the exception, or asyncio logs it as never retrieved.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task
