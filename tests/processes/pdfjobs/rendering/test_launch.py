"""A slow start of the browser does not count against the job, and a cancelled one leaves nothing behind."""

import asyncio
import gc
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from pdfjobs import rendering
from pdfjobs.browser import find_browser
from pdfjobs.rendering import RenderError, browser_manager
from pdfjobs.rendering.browser_manager import BrowserManager
from pdfjobs.rendering.isolated_page import IsolatedPage
from pdfjobs.rendering.renderer import Renderer
from tests.support.rendering import PAGE
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until


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
    """While it starts, the render thread's clock jumps by more than the page's limit."""
    start = BrowserManager._start_browser

    async def start_for_a_minute(self: BrowserManager, arguments: dict[str, Any]) -> Any:
        browser = await start(self, arguments)
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + 60)
        return browser

    rendering.close()
    monkeypatch.setattr(BrowserManager, "_start_browser", start_for_a_minute)
    monkeypatch.setattr(browser_manager, "LAUNCH_LIMIT", PATIENCE)

    try:
        assert to_pdf(seconds=60).startswith(b"%PDF-")
    finally:
        rendering.close()


def test_a_launch_called_off_leaves_no_driver(slow_start) -> None:
    """And no warning: the event loop reaps the driver before it closes."""
    slow_start(60)
    mine = Renderer()
    before = set(psutil.Process().children())
    printing = asyncio.run_coroutine_threadsafe(mine.browser_manager.print(("", PAGE), {}, limit=60), mine.loop)
    begun = wait_until(lambda: [one for one in set(psutil.Process().children()) - before if one.children()], every=0.05)

    printing.cancel()

    try:
        wait_for_the_end(*begun)
    finally:
        mine.close()
    del mine, printing
    gc.collect()


def test_a_browser_that_is_gone_before_it_is_known_did_not_start(monkeypatch, to_pdf: Callable[..., bytes]) -> None:
    """Unlike UNKNOWN, such a job is retried."""
    rendering.close()

    def gone(pid: int | None = None) -> psutil.Process:
        if pid is not None:
            raise psutil.NoSuchProcess(pid)
        return psutil.Process()

    with monkeypatch.context() as patch:
        patch.setattr(
            browser_manager,
            "psutil",
            SimpleNamespace(Process=gone, Error=psutil.Error, NoSuchProcess=psutil.NoSuchProcess),
        )
        with pytest.raises(RenderError) as fault:
            to_pdf()

    assert fault.value.code == "BROWSER_LAUNCH_FAILED"
    assert to_pdf().startswith(b"%PDF")


@pytest.mark.parametrize(("dies", "code"), [(True, "BROWSER_CRASHED"), (False, "UNKNOWN")])
def test_whatever_is_stumbled_over_in_a_dead_browser_is_its_death(
    monkeypatch, to_pdf: Callable[..., bytes], browser: psutil.Process, dies, code
) -> None:
    async def stumble(*_: Any) -> None:
        if dies:
            browser.kill()
            browser.wait(PATIENCE)
        raise ValueError("not enough values to unpack")

    with monkeypatch.context() as patch:
        patch.setattr(IsolatedPage, "print", stumble)
        with pytest.raises(RenderError) as fault:
            to_pdf()

    assert fault.value.code == code
    assert to_pdf().startswith(b"%PDF")
