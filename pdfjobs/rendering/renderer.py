"""The render thread of this process: it owns Playwright, whose loop must not meet the ORM."""

import asyncio
import atexit
import logging
import os
import threading
from datetime import datetime, timedelta
from typing import Any

from pdfjobs.rendering.chromium import LAUNCH_LIMIT
from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.layout import head, layout
from pdfjobs.rendering.options import MOST_PAGES, PageOptions
from pdfjobs.rendering.stamp import page_count, stamp
from pdfjobs.states import ErrorCode

GRACE = 5.0  # seconds between the browser's end and the worker's
MOST_HTML = 5 * 1024 * 1024  # bytes; this much takes Chromium 4 s and over 1 GB, ten times as much never ends
END_LIMIT = 10.0  # seconds
logger = logging.getLogger(__name__)


class Renderer:
    """A thread with an event loop, and the browser it drives."""

    def __init__(self) -> None:
        from pdfjobs.rendering.browser_manager import BrowserManager  # noqa: PLC0415 - web processes must not load Playwright

        self.pid = os.getpid()
        self.session = BrowserManager()
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(_note)
        # A daemon: a worker that ends does not wait for it, and the driver ends the browser when its pipe closes.
        self.thread = threading.Thread(target=self._run, name="pdf-render", daemon=True)
        self.thread.start()

    def print(
        self, page: tuple[str, str], arguments: dict[str, Any], *, limit: float, hard: float, owner: int | str | None
    ) -> bytes:
        """Return the PDF; whatever ends the wait also ends the work."""
        printing = self.session.print(page, arguments, limit=limit, owner=owner)
        future = asyncio.run_coroutine_threadsafe(printing, self.loop)
        try:
            return future.result(timeout=hard + LAUNCH_LIMIT)
        except RenderError:
            raise
        except TimeoutError:
            # Not even the loop answers: leave the thread behind, without anything to drive.
            self.leave()
            raise RenderError(ErrorCode.NAVIGATION_TIMEOUT, f"The renderer did not answer within {hard:g} s.") from None
        except BaseException:
            # django-q2 ends a task by SystemExit in the middle of this wait: the next job must not meet this page.
            future.cancel()
            self.session.kill()
            raise

    def leave(self) -> None:
        """Kill all this thread drives, and forget it: should it come to life again, it has nothing to do."""
        self.session.leave()
        _forget(self)

    def close(self) -> None:
        ending = asyncio.run_coroutine_threadsafe(self.session.end(), self.loop)
        try:
            ending.result(timeout=END_LIMIT)
        except Exception:  # noqa: BLE001 - whatever it is, nothing may be left running
            self.session.leave()
        _forget(self)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(END_LIMIT)

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.close()


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keep what Playwright leaves lying when its driver dies out of the log: the job's own fault tells of it."""
    logger.debug("%s: %s", context.get("message"), context.get("exception"))


_one_at_a_time = threading.Lock()
_renderer: Renderer | None = None
_of_the_parent: list[Renderer] = []  # kept, or their loops would be closed here


def render(
    html: str, options: PageOptions, *, made_at: datetime, hard_timeout: timedelta, owner: int | str | None = None
) -> bytes:
    """Return the PDF, or raise RenderError; documents of one owner may follow each other on the same page."""
    page = head(html, options), html
    if sum(len(part.encode()) for part in page) > MOST_HTML:
        raise RenderError(ErrorCode.TEMPLATE_ERROR, f"The document has over {MOST_HTML:,} bytes of HTML.")
    hard = hard_timeout.total_seconds()
    if options.tagged:
        owner = None  # a page numbers structure on from its last document's: only a fresh one begins anew
    with _one_at_a_time:
        pdf = _mine().print(page, layout(options), limit=graceful(hard), hard=hard, owner=owner)
    if page_count(pdf) > MOST_PAGES:
        raise RenderError(ErrorCode.TEMPLATE_ERROR, f"The document has over {MOST_PAGES:,} pages.")
    return stamp(pdf, options.metadata, made_at=made_at)


def graceful(hard: float) -> float:
    """Return after how many seconds the browser is killed, so that the worker itself never is."""
    return max(hard - GRACE, hard / 2)


def close() -> None:
    if _renderer and _renderer.pid == os.getpid():
        _renderer.close()


def _mine() -> Renderer:
    global _renderer  # noqa: PLW0603 - one thread per process is the point
    if _renderer is None:
        _renderer = Renderer()
    return _renderer


def _forget(renderer: Renderer) -> None:
    global _renderer  # noqa: PLW0603
    if _renderer is renderer:
        _renderer = None


def _after_fork() -> None:
    """Leave the parent's thread to the parent: here it does not run, and its browser is not ours."""
    global _renderer, _one_at_a_time
    if _renderer:
        _of_the_parent.append(_renderer)
    _renderer, _one_at_a_time = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows, where the runner of cutting jobs may live, has no fork
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)
