"""A browser that takes its time to start costs the job nothing, and one called off leaves nothing behind (PDF-7)."""

import asyncio
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pdfjobs import rendering
from pdfjobs.browser import find_browser
from pdfjobs.rendering import session
from pdfjobs.rendering.renderer import Renderer
from pdfjobs.rendering.session import Session
from tests.pdfjobs.rendering.conftest import PAGE
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def slow_start(tmp_path: Path, monkeypatch) -> Callable[[int], None]:
    """Let the browser sleep before it starts."""

    def make(seconds: int) -> None:
        script = tmp_path / "chromium"
        script.write_text(f'#!/bin/sh\nsleep {seconds}\nexec {find_browser()} "$@"\n')
        script.chmod(0o755)
        rendering.close()
        monkeypatch.setenv("KILIT_CHROMIUM", str(script))

    return make


def test_a_short_limit_begins_when_the_browser_is_up(monkeypatch, to_pdf: Callable[..., bytes]) -> None:
    """While it starts, the render thread's clock leaps by more than the page may take."""
    start = Session._start_browser

    async def start_for_a_minute(self: Session, arguments: dict[str, Any]) -> Any:
        browser = await start(self, arguments)
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + 60)
        return browser

    rendering.close()
    monkeypatch.setattr(Session, "_start_browser", start_for_a_minute)
    monkeypatch.setattr(session, "LAUNCH_LIMIT", PATIENCE)

    try:
        assert to_pdf(seconds=60).startswith(b"%PDF-")
    finally:
        rendering.close()


# The driver is killed, and what asyncio kept of it is thrown away here, not in the middle of another test.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_launch_called_off_leaves_no_driver(slow_start) -> None:
    slow_start(60)
    mine = Renderer()
    before = set(psutil.Process().children())
    printing = asyncio.run_coroutine_threadsafe(mine.session.print(("", PAGE), {}, limit=60), mine.loop)
    begun = wait_until(lambda: [one for one in set(psutil.Process().children()) - before if one.children()], every=0.05)

    printing.cancel()

    try:
        _, alive = psutil.wait_procs(begun, timeout=PATIENCE)
        assert alive == []
    finally:
        mine.leave()
        mine.loop.call_soon_threadsafe(mine.loop.stop)
        mine.thread.join(PATIENCE)
        del mine, printing
        gc.collect()
