"""How long a browser may take to start, and how many jobs it serves."""

import asyncio
import os
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdfjobs.rendering import RenderError, chromium
from pdfjobs.rendering.browser_manager import BrowserManager
from tests.support.waiting import wait_until


def test_a_browser_has_ten_seconds_to_start() -> None:
    """As it is in the file: for tests the limit is longer (tests/apps/patient)."""
    shipped = runpy.run_path(chromium.__file__)

    assert shipped["LAUNCH_LIMIT"] == 10
    assert shipped["launch_arguments"]()["timeout"] == 10_000


@pytest.mark.parametrize(("jobs", "stops"), [(299, 0), (300, 1)])
def test_a_browser_serves_three_hundred_jobs(monkeypatch, jobs: int, stops: int) -> None:
    stopped = []

    async def stop(manager: BrowserManager) -> None:
        stopped.append(manager)

    async def tidy_up() -> None:
        manager = BrowserManager()
        manager.jobs = jobs
        await manager._tidy_up(None)

    monkeypatch.setattr(BrowserManager, "stop", stop)
    asyncio.run(tidy_up())

    assert len(stopped) == stops


def test_a_browser_that_does_not_run_is_asked_again_only_after_a_while(monkeypatch, tmp_path: Path) -> None:
    binary, runs = tmp_path / "chromium", tmp_path / "runs"
    binary.write_text(f"#!/bin/sh\necho >> {runs}\nexit 3\n")
    binary.chmod(0o700)
    monkeypatch.setenv("KILIT_CHROMIUM", str(binary))

    def count_runs() -> int:
        with pytest.raises(RenderError, match="does not run"):
            chromium.engine_version()
        return len(runs.read_text())

    assert [count_runs(), count_runs()] == [1, 1]
    monkeypatch.setattr(chromium, "FAILS_FOR", -1)
    assert count_runs() == 2


def test_while_a_failed_browser_is_asked_again_no_other_request_waits(monkeypatch, tmp_path: Path) -> None:
    binary, runs, gate = tmp_path / "chromium", tmp_path / "runs", tmp_path / "gate"
    binary.write_text(f"#!/bin/sh\necho >> {runs}\ntest -p {gate} && read line < {gate}\nexit 3\n")
    binary.chmod(0o700)
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setenv("KILIT_CHROMIUM", str(binary))
    monkeypatch.setattr(chromium, "LAUNCH_LIMIT", 5.0)
    monkeypatch.setattr(chromium, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with pytest.raises(RenderError, match="exit status 3"):
        chromium.engine_version()

    os.mkfifo(gate)
    opened = os.open(gate, os.O_RDWR)
    clock.now += chromium.FAILS_FOR + 1
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(chromium.engine_version)
        wait_until(lambda: len(runs.read_text()) == 2, every=0.01)
        with pytest.raises(RenderError, match="exit status 3"):
            chromium.engine_version()
        asked = len(runs.read_text())
        os.write(opened, b"\n")
    os.close(opened)

    assert asked == 2
    assert "exit status 3" in str(first.exception())
