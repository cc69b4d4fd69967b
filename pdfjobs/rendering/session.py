"""The browser of one render thread: started when needed, replaced when it fails, with a page made ahead of need.

Everything here runs in the render thread's event loop, save `kill`. This module loads Playwright: import it late.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import psutil
from playwright.async_api import Browser, Error, Page, Playwright, Route, async_playwright

from pdfjobs.rendering.engine import LAUNCH_LIMIT, launch_arguments
from pdfjobs.rendering.faults import RenderFault
from pdfjobs.states import ErrorCode

RECYCLE_AFTER = 300  # jobs; a browser grows for as long as that, and no further
CLOSE_LIMIT = 5.0  # seconds
# The four bars a page stands behind (a fifth is the policy in its head): no script, no network, no request let
# through, no download. Each alone leaks something; tests/pdfjobs/rendering/test_network.py shows what.
LOCKED_DOWN: dict[str, Any] = {
    "java_script_enabled": False,
    "offline": True,
    "accept_downloads": False,
    "service_workers": "block",
}
Answer = TypeVar("Answer")
GONE = ("closed", "crash", "disconnected", "Printing failed")  # in what Playwright says of a browser or page that died


class Session:
    """One browser at a time."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.jobs = 0
        self.browser: psutil.Process | None = None
        self.driver: psutil.Process | None = None
        self._doomed = False
        self._playwright: Playwright | None = None
        self._connection: Browser | None = None
        self._death = asyncio.Event()
        self._launching = asyncio.Lock()
        self._spare: asyncio.Task[Page] | None = None
        self._chores: set[asyncio.Task[Any]] = set()

    async def print(self, html: str, layout: dict[str, Any], *, limit: float) -> bytes:
        """Return the PDF of a page that nothing else ever sees; after the limit the browser is killed."""
        page = None
        try:
            await self._launched()
            async with asyncio.timeout(limit):
                page = await self._take()
                self.jobs += 1
                await self._while_alive(page.set_content(html, timeout=0))
                return await self._while_alive(page.pdf(**layout))
        except RenderFault:
            raise
        except Exception as error:  # noqa: BLE001 - a dead driver is told as a bare Exception
            raise self._fault(error, limit) from None
        finally:
            self._later(self._tidy(page))

    def kill(self) -> None:
        """End the browser at once, from any thread; the next page gets a new one."""
        self._doomed = True
        _kill(self.browser)

    async def stop(self) -> None:
        """End the browser, politely at first."""
        connection, self._connection, browser = self._connection, None, self.browser
        if connection is None:
            return
        try:
            async with asyncio.timeout(CLOSE_LIMIT):
                await connection.close()
        except (TimeoutError, Error):
            _kill(browser)

    async def end(self) -> None:
        """End the browser and Playwright's driver."""
        for chore in self._chores:
            chore.cancel()
        await self.stop()
        if self._playwright and _is_up(self.driver):
            await self._playwright.stop()

    def _fault(self, error: Exception, limit: float) -> RenderFault:
        if isinstance(error, TimeoutError):
            # `page.pdf` knows no timeout, and a page that hangs takes its browser along: only a kill ends it.
            self.kill()
            return RenderFault(
                ErrorCode.NAVIGATION_TIMEOUT, f"The page was not done after {limit:g} s; its browser was killed."
            )
        told = str(error).strip().splitlines()[0]
        if any(word in told for word in GONE):
            self.kill()
            return RenderFault(ErrorCode.BROWSER_LAUNCH_FAILED, f"The browser died while it rendered: {told}")
        if "range" in told.lower():
            return RenderFault(ErrorCode.TEMPLATE_ERROR, f"The pages asked for are not in the document: {told}")
        return RenderFault(ErrorCode.UNKNOWN, told)

    async def _launched(self) -> None:
        """Have a browser before the job's own time begins: a cold worker needs seconds that a short limit has not."""
        try:
            async with asyncio.timeout(LAUNCH_LIMIT), self._launching:
                await self._running()
        except TimeoutError:
            words = f"Chromium did not start: not up after {LAUNCH_LIMIT:g} s"
            raise RenderFault(ErrorCode.BROWSER_LAUNCH_FAILED, words) from None

    async def _take(self) -> Page:
        """Return the page made ahead, if its browser still lives, else a new one."""
        spare, self._spare = self._spare, None
        busy = spare is not None and not spare.done()
        page = None
        if spare and self._alive():
            try:
                page = await spare
            except (Error, RenderFault):
                page = None  # its browser died or did not start; try once more, now on the job's account
        if page is None or page.is_closed() or not self._alive():
            page = await self._open()
        if busy and self.jobs < RECYCLE_AFTER:
            self._prepare()  # jobs come faster than pages: make the next one beside this job, not after it
        return page

    def _prepare(self) -> None:
        if self._spare is None:
            self._spare = self._later(self._open())

    async def _open(self) -> Page:
        async with self._launching:
            browser = await self._running()
        context = await self._while_alive(browser.new_context(**LOCKED_DOWN))
        await self._while_alive(context.route("**/*", _refuse))
        page = await self._while_alive(context.new_page())
        death = self._death
        page.on("crash", lambda _: death.set())
        return page

    async def _while_alive(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for the browser's answer, but not for a dead one's: Playwright forgets some calls when it dies."""
        answer, death = asyncio.ensure_future(work), asyncio.ensure_future(self._death.wait())
        try:
            await asyncio.wait({answer, death}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise RenderFault(ErrorCode.BROWSER_LAUNCH_FAILED, "The browser died while it rendered.")
            return answer.result()
        finally:
            answer.cancel()
            death.cancel()

    def _alive(self) -> bool:
        """Tell whether the browser can be given a page."""
        healthy = not self._doomed and not self._death.is_set() and _is_up(self.driver) and _is_up(self.browser)
        return bool(healthy and self._connection and self._connection.is_connected())

    async def _running(self) -> Browser:
        """Return the browser, started if there is none."""
        if self._connection and self._alive():
            return self._connection
        _kill(self.browser)  # half of it may still run
        self._doomed, self.jobs = False, 0
        arguments = launch_arguments()  # a missing browser is not a failed launch: it is told as what it is
        try:
            async with asyncio.timeout(LAUNCH_LIMIT):
                if not _is_up(self.driver):
                    await self._start_driver()
                self._connection = await self._start_browser(arguments)
        except (TimeoutError, OSError, Error) as error:
            self._give_up()
            told = str(error).strip() or f"not up after {LAUNCH_LIMIT:g} s"
            raise RenderFault(ErrorCode.BROWSER_LAUNCH_FAILED, f"Chromium did not start: {told[:2000]}") from None
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
            self.driver = next((child for child in started if _is_driver(child)), None)

    async def _start_browser(self, arguments: dict[str, Any]) -> Browser:
        assert self._playwright  # noqa: S101 - _running starts it first
        browser = await self._playwright.chromium.launch(**arguments)
        self._death = death = asyncio.Event()
        browser.on("disconnected", lambda _: death.set())
        inspector = await browser.new_browser_cdp_session()
        told = await inspector.send("SystemInfo.getProcessInfo")
        await inspector.detach()
        pid = next(process["id"] for process in told["processInfo"] if process["type"] == "browser")
        self.browser = psutil.Process(pid)
        return browser

    def _give_up(self) -> None:
        """Forget a driver that could not start a browser, and whatever it did start."""
        self._connection = self._playwright = None
        kill_tree(self.driver)
        self.driver = None

    async def _tidy(self, page: Page | None) -> None:
        """Make the next page, now that nobody waits, and throw the used one away with its context.

        A page takes 50 ms to make and 35 ms to use: made ahead, it costs the next job nothing.
        """
        if self.jobs >= RECYCLE_AFTER and not self._doomed:
            await self.stop()
        self._prepare()
        if page and not page.is_closed():
            await page.context.close()

    def _later(self, chore: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        # Looked at here, or Python would complain of an error that nobody asked for.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task


def _is_up(process: psutil.Process | None) -> bool:
    try:
        return process is not None and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is_driver(process: psutil.Process) -> bool:
    try:
        return "run-driver" in process.cmdline()
    except psutil.Error:
        return False


async def _refuse(route: Route) -> None:
    await route.abort()


def _kill(process: psutil.Process | None) -> None:
    """Kill a browser with its helpers: Playwright starts each as the leader of a group."""
    if process is None or not process.is_running():  # also false for another process with the same number
        return
    try:
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_tree(process: psutil.Process | None) -> None:
    """Kill a driver and all it started."""
    try:
        found = [] if process is None else [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return
    for child in found:
        _kill(child)
