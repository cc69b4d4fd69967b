"""The render thread of a worker process. It owns Playwright, whose event loop must not run in the ORM's thread."""

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings

from pdfjobs.rendering.chromium import LAUNCH_LIMIT
from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.join import join
from pdfjobs.rendering.options import MOST_PAGES, PageOptions, head, layout
from pdfjobs.rendering.stamp import page_count, stamp
from pdfjobs.states import ErrorCode

logger = logging.getLogger(__name__)

GRACE = 5.0  # seconds by which the browser is killed before the job's limit
MOST_HTML = 5 * 1024 * 1024  # bytes; this much takes Chromium 4 s and over 1 GB, ten times as much never finishes
CLOSE_LIMIT = 10.0  # seconds


class Renderer:
    def __init__(self) -> None:
        from pdfjobs.rendering.browser_manager import BrowserManager

        self.pid = os.getpid()
        self.browser_manager = BrowserManager()
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(_log_quietly)
        self.prints = 0
        self._idle: asyncio.TimerHandle | None = None
        # A daemon: an exiting worker does not wait for it, and the driver closes the browser when its pipe closes.
        self.thread = threading.Thread(target=self._run, name="pdf-render", daemon=True)
        self.thread.start()

    def print(
        self, html: tuple[str, str], arguments: dict[str, object], *, limit: float, hard: float, owner: int | str | None
    ) -> bytes:
        """Return the PDF; whatever interrupts the wait also stops the work."""
        self.prints += 1
        printing = self.browser_manager.print(html, arguments, limit=limit, owner=owner)
        future = asyncio.run_coroutine_threadsafe(printing, self.loop)
        try:
            return future.result(timeout=hard + LAUNCH_LIMIT)
        except RenderError:
            raise
        except TimeoutError:
            # Not even the event loop answers: abandon the thread and kill its processes.
            self.abandon()
            raise RenderError(ErrorCode.NAVIGATION_TIMEOUT, f"The renderer did not answer within {hard:g} s.") from None
        except BaseException:
            # django-q2 ends a task by SystemExit during this wait: the next job must not get this page.
            future.cancel()
            self.browser_manager.kill()
            raise
        finally:
            self.loop.call_soon_threadsafe(self._close_later)

    def _close_later(self) -> None:
        if self._idle:
            self._idle.cancel()
        closer = threading.Thread(target=_close_if_idle, args=(self, self.prints), name="pdf-close", daemon=True)
        self._idle = self.loop.call_later(settings.PDF_BROWSER_IDLE.total_seconds(), closer.start)

    def abandon(self) -> None:
        self.browser_manager.abandon()
        _forget(self)

    def close(self) -> None:
        closing = asyncio.run_coroutine_threadsafe(self.browser_manager.close(), self.loop)
        try:
            closing.result(timeout=CLOSE_LIMIT)
        except Exception:  # noqa: BLE001 - nothing may be left running
            self.browser_manager.abandon()
        _forget(self)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(CLOSE_LIMIT)

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.close()


def _log_quietly(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Log Playwright's unhandled errors after its driver died as debug only: the job's error reports the crash."""
    logger.debug("%s: %s", context.get("message"), context.get("exception"))


_lock = threading.Lock()
_renderer: Renderer | None = None
_parents_renderers: list[Renderer] = []  # referenced, or their loops would be closed here


def render(
    pages: Iterable[str],
    options: PageOptions,
    *,
    made_at: datetime,
    hard_timeout: timedelta,
    whole_timeout: timedelta | None = None,
    owner: int | str | None = None,
) -> bytes:
    """Return the PDF, or raise RenderError. Documents of one owner may share a page, one after the other.

    Usually a document is one page of HTML. A long one has several: each is printed before the next one is made. The
    hard timeout is that of each.
    """
    hard = hard_timeout.total_seconds()
    if options.tagged:
        owner = None  # a page continues numbering the structure of its last document: use a new one
    limit = graceful(hard)
    end = time.monotonic() + (whole_timeout or hard_timeout).total_seconds() - GRACE
    pdfs: list[bytes] = []
    for html in pages:
        parts = head(html, options), html
        if sum(len(part.encode()) for part in parts) > MOST_HTML:
            raise RenderError(ErrorCode.DOCUMENT_TOO_LARGE, f"The document has more than {MOST_HTML:,} bytes of HTML.")
        with _lock:
            pdfs.append(_current().print(parts, layout(options), limit=limit, hard=hard, owner=owner))
        if page_count(pdfs[-1]) > MOST_PAGES:
            raise RenderError(ErrorCode.DOCUMENT_TOO_LARGE, f"The document has more than {MOST_PAGES:,} pages.")
        limit = max(min(limit, end - time.monotonic()), 0)
    return stamp(join(pdfs), options.metadata, made_at=made_at)


def graceful(hard: float) -> float:
    """Return after how many seconds the browser is killed, so that the worker itself is not."""
    return max(hard - GRACE, hard / 2)


def _close_if_idle(renderer: Renderer, prints: int) -> None:
    """Close the browser and its driver, which hold more memory than the worker; the next job starts them again."""
    with _lock:
        if _renderer is renderer and renderer.prints == prints:
            renderer.close()


def close() -> None:
    if _renderer and _renderer.pid == os.getpid():
        _renderer.close()


def _current() -> Renderer:
    global _renderer
    if _renderer is None:
        _renderer = Renderer()
    return _renderer


def _forget(renderer: Renderer) -> None:
    global _renderer
    if _renderer is renderer:
        _renderer = None


def _after_fork() -> None:
    """The parent's render thread does not run in the child, and its browser belongs to the parent."""
    global _renderer, _lock
    if _renderer:
        _parents_renderers.append(_renderer)
    _renderer, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows, where cutting jobs may run, has no fork
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)
