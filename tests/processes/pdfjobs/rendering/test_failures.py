"""Each failure of rendering has its code, and the next page renders at once."""

import asyncio
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.async_api import BrowserContext

from pdfjobs import rendering
from pdfjobs.rendering import RenderError, browser_manager, chromium, renderer
from tests.support.rendering import current_browser, when_printing
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def spare_page_is_ready() -> bool:
    spare = renderer._renderer.browser_manager._spare_page
    return spare is not None and spare.done()


def test_a_page_that_never_finishes_times_out_and_takes_its_browser_along(
    to_pdf: Callable[..., bytes], browser
) -> None:
    """Only a kill ends it."""
    expected = to_pdf()
    helpers = browser.children(recursive=True)
    browser.suspend()  # like a page that loops endlessly: nothing answers any more

    with pytest.raises(RenderError) as fault:
        to_pdf(seconds=2)

    assert fault.value.code == "NAVIGATION_TIMEOUT"
    wait_for_the_end(browser)
    wait_for_the_end(*helpers)
    assert to_pdf() == expected
    assert current_browser() != browser


def test_printing_that_never_ends_times_out(to_pdf: Callable[..., bytes], browser) -> None:
    """Printing has no timeout."""
    with when_printing(browser.suspend), pytest.raises(RenderError) as fault:
        to_pdf(seconds=2)

    assert fault.value.code == "NAVIGATION_TIMEOUT"
    wait_for_the_end(browser)
    assert to_pdf().startswith(b"%PDF")


@pytest.mark.parametrize("seconds", [60, 8, 1])
def test_the_browser_ends_before_the_worker_does(seconds: float) -> None:
    """Five seconds before the limit, or half of a shorter one."""
    assert renderer.graceful(seconds) == {60: 55, 8: 4, 1: 0.5}[seconds]


def test_a_browser_that_dies_while_rendering_is_worth_another_try(to_pdf: Callable[..., bytes], browser) -> None:
    with when_printing(browser.kill), pytest.raises(RenderError) as fault:
        to_pdf()

    assert fault.value.code == "BROWSER_CRASHED"
    assert "crashed" in fault.value.detail
    assert to_pdf().startswith(b"%PDF")


@pytest.fixture
def fatal_pages(monkeypatch) -> Callable[[], list[psutil.Process]]:
    """Kill the next browser while it opens a page; Playwright never answers such a call."""
    route, killed = BrowserContext.route, []

    async def killed_once(self: BrowserContext, *given: Any) -> None:
        if not killed:
            killed.append(current_browser())
            killed[0].suspend()  # the call is on its way when the browser dies
            asyncio.get_running_loop().call_later(0.3, killed[0].kill)
        await route(self, *given)

    def arm() -> list[psutil.Process]:
        monkeypatch.setattr(BrowserContext, "route", killed_once)
        return killed

    return arm


def test_a_browser_that_dies_of_a_spare_page_fails_no_job(to_pdf: Callable[..., bytes], fatal_pages) -> None:
    expected = to_pdf()
    wait_until(spare_page_is_ready)
    killed = fatal_pages()
    assert to_pdf() == expected
    wait_until(lambda: killed != [])

    assert to_pdf() == expected
    wait_for_the_end(killed[0])


def test_a_browser_that_dies_of_a_jobs_own_page_fails_it_at_once(to_pdf: Callable[..., bytes], fatal_pages) -> None:
    rendering.close()
    killed = fatal_pages()

    with pytest.raises(RenderError) as fault:
        to_pdf()

    assert fault.value.code == "BROWSER_CRASHED"
    wait_for_the_end(killed[0])
    assert to_pdf().startswith(b"%PDF")


def test_a_page_whose_process_crashes_is_worth_another_try(to_pdf: Callable[..., bytes], browser) -> None:
    def crash() -> None:
        for child in browser.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # of a page before this one, which is being closed
                if "--type=renderer" in child.cmdline():
                    child.kill()

    with when_printing(crash), pytest.raises(RenderError) as fault:
        to_pdf()

    assert fault.value.code == "BROWSER_CRASHED", fault.value.detail
    assert to_pdf().startswith(b"%PDF")


def test_a_browser_that_died_between_two_pages_fails_neither(to_pdf: Callable[..., bytes], browser) -> None:
    expected = to_pdf()
    dead = current_browser()
    assert dead
    dead.kill()
    wait_for_the_end(dead)

    assert to_pdf() == expected


@pytest.mark.parametrize("ahead", [False, True], ids=["at once", "after the next page was made ahead"])
@pytest.mark.by_day(1)
def test_a_driver_that_died_is_replaced(ahead, to_pdf: Callable[..., bytes], browser) -> None:
    """A spare page does not always notice that its browser is gone."""
    expected = to_pdf()
    if ahead:
        wait_until(spare_page_is_ready)
    driver = renderer._renderer.browser_manager.driver
    browser_manager.kill_tree(driver)
    wait_for_the_end(driver)

    assert to_pdf() == expected


def test_without_a_browser_the_fault_says_what_to_install(to_pdf: Callable[..., bytes], monkeypatch) -> None:
    rendering.close()
    with monkeypatch.context() as patch:
        patch.setenv("KILIT_CHROMIUM", "/nowhere/chromium")

        with pytest.raises(RenderError) as fault:
            to_pdf()
        with pytest.raises(RenderError) as asked:
            rendering.engine_version()

    assert fault.value.code == asked.value.code == "UNSUPPORTED_PLATFORM"
    assert "manage.py browser" in fault.value.detail
    assert to_pdf().startswith(b"%PDF")


@pytest.mark.parametrize("binary", ["exit 3", "exec sleep 60"], ids=["that ends", "that hangs"])
@pytest.mark.by_day(1)
def test_a_browser_that_does_not_start(to_pdf: Callable[..., bytes], monkeypatch, tmp_path: Path, binary: str) -> None:
    rendering.close()
    with monkeypatch.context() as patch:
        patch.setenv("KILIT_CHROMIUM", script(tmp_path / "chromium", f"echo $$ >>{tmp_path}/starts; {binary}"))
        patch.setattr(browser_manager, "LAUNCH_LIMIT", PATIENCE)
        patch.setattr(chromium, "LAUNCH_LIMIT", 5.0)

        with pytest.raises(RenderError) as fault:
            to_pdf()
        wait_until(lambda: not renderer._renderer.browser_manager._background)

    assert fault.value.code == "BROWSER_LAUNCH_FAILED"
    [started] = (tmp_path / "starts").read_text().split()
    wait_for_the_end(int(started))
    assert to_pdf().startswith(b"%PDF")


@pytest.mark.nightly  # by day, one that died is
def test_a_browser_is_replaced_after_its_share(to_pdf: Callable[..., bytes], monkeypatch) -> None:
    """Recycled after so many jobs."""
    rendering.close()
    monkeypatch.setattr(browser_manager, "RECYCLE_AFTER", 3)
    seen = []

    for _ in range(7):
        to_pdf()
        seen.append(current_browser())

    assert [first == second for first, second in pairwise(seen)].count(False) == 2
    wait_for_the_end(*set(seen[:-1]) - {seen[-1]})


def test_the_workers_own_timeout_leaves_nothing_of_the_page(to_pdf: Callable[..., bytes], browser) -> None:
    """Django-q2 ends a task by SystemExit during the wait."""
    expected = to_pdf()

    def end_task(number: int, frame: object) -> None:
        raise SystemExit

    wait = Future.result

    def wait_with_alarm(self: Future[bytes], timeout: float) -> bytes:
        signal.setitimer(signal.ITIMER_REAL, 0.5)  # only now: before it waits there is nothing to end
        return wait(self, timeout)

    before = signal.signal(signal.SIGALRM, end_task)
    browser.suspend()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Future, "result", wait_with_alarm)
            with pytest.raises(SystemExit):
                to_pdf("<p>of the task that was ended</p>")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert to_pdf() == expected
    wait_for_the_end(browser)


def test_a_loop_that_no_longer_answers_is_left_behind(to_pdf: Callable[..., bytes], browser) -> None:
    expected = to_pdf()
    stuck = renderer._renderer
    others = drivers() - {stuck.browser_manager.driver}
    release = threading.Event()
    stuck.loop.call_soon_threadsafe(release.wait)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renderer, "LAUNCH_LIMIT", 1.0)
        with pytest.raises(RenderError) as fault:
            to_pdf(seconds=1)
    answer = to_pdf()
    release.set()

    assert fault.value.code == "NAVIGATION_TIMEOUT"
    assert answer == expected
    assert renderer._renderer is not stuck
    wait_for_the_end(browser)
    # It lives again, and starts nothing.
    asyncio.run_coroutine_threadsafe(asyncio.sleep(1), stuck.loop).result(PATIENCE)
    assert drivers() - others == {renderer._renderer.browser_manager.driver}


def drivers() -> set[psutil.Process]:
    return {child for child in psutil.Process().children() if browser_manager.is_driver(child)}


def test_threads_of_one_process_take_turns(to_pdf: Callable[..., bytes], in_threads) -> None:
    pages = in_threads(lambda number: (number, to_pdf(f"<p>Sayfa {number}</p>")), count=6)

    assert all(pdf == to_pdf(f"<p>Sayfa {number}</p>") for number, pdf in pages)


@pytest.mark.nightly  # by day, a driver that died is replaced
def test_closing_twice_and_rendering_again(to_pdf: Callable[..., bytes]) -> None:
    expected = to_pdf()
    rendering.close()
    rendering.close()

    assert to_pdf() == expected
