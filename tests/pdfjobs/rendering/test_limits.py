"""How long a browser may take to start, and how many jobs it serves."""

import asyncio
import runpy
from pathlib import Path

import pytest

from pdfjobs.rendering import RenderError, chromium
from pdfjobs.rendering.browser_manager import BrowserManager


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
