"""Processes: the same bytes in each, nothing left behind, and no browser where none is needed."""

import hashlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import psutil
import pytest

from pdfjobs import rendering
from pdfjobs.rendering import browser_manager, chromium, renderer
from tests.support.commands import ROOT, fresh_environment, run_python
from tests.support.rendering import MADE_AT, PAGE, current_browser
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until

# Renders in a separate process, prints the digest and the browser's pid, and then does what its argument says.
WORKER = """
import hashlib, os, sys
from datetime import datetime, timedelta
import django
django.setup()
from pdfjobs import rendering
from pdfjobs.rendering import renderer
made_at, page, then = sys.argv[1:]
pdf = rendering.render(
    [page], rendering.PageOptions.read({}), made_at=datetime.fromisoformat(made_at), hard_timeout=timedelta(minutes=3)
)
print(hashlib.sha256(pdf).hexdigest(), renderer._renderer.browser_manager.browser.pid, flush=True)
if then == "wait":
    sys.stdin.read()
if then == "abort":
    os._exit(3)
"""


@pytest.fixture
def worker(tmp_path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start processes that render, and end them after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(then: str) -> subprocess.Popen[str]:
        environment = fresh_environment(
            DJANGO_SETTINGS_MODULE="tests.apps.patient.settings", KILIT_VAR=str(tmp_path), PYTHONPATH=str(ROOT)
        )
        command = [sys.executable, "-c", WORKER, MADE_AT.isoformat(), PAGE, then]
        started.append(
            subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def output_of(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Return what came out, and the number of the browser, which may be gone when this is read."""
    assert process.stdout
    digest, pid = process.stdout.readline().split()
    return digest, int(pid)


@pytest.mark.nightly  # by day, a restarted browser does
def test_another_process_gives_the_same_bytes(worker, to_pdf: Callable[..., bytes]) -> None:
    """Across workers."""
    digest, browser = output_of(worker("wait"))

    assert hashlib.sha256(to_pdf()).hexdigest() == digest
    assert browser != current_browser().pid


def test_two_renders_and_a_restarted_browser_give_the_same_bytes(to_pdf: Callable[..., bytes]) -> None:
    """Across restarts."""
    first, second = to_pdf(), to_pdf()
    rendering.close()

    assert first == second == to_pdf()


@pytest.mark.parametrize("then", ["abort", pytest.param("exit", marks=pytest.mark.nightly)])
def test_a_worker_that_ends_leaves_nothing_running(worker, then: str) -> None:
    """By the book, or as a forked worker does, without its exit handlers."""
    process = worker(then)
    _, browser = output_of(process)

    process.wait(PATIENCE)

    wait_for_the_end(browser)


# Whoever ends a browser that hangs waits half a minute for it first.
@pytest.mark.parametrize("hung", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["idle", "hung"])
def test_a_killed_worker_leaves_nothing_running(worker, hung) -> None:
    process = worker("wait")
    _, browser = output_of(process)
    family = [*psutil.Process(process.pid).children(recursive=True)]
    if hung:
        psutil.Process(browser).suspend()

    process.kill()
    process.wait(PATIENCE)

    assert browser in {member.pid for member in family}
    wait_for_the_end(*family)


def test_a_forked_worker_gets_a_browser_of_its_own(to_pdf: Callable[..., bytes]) -> None:
    """Keyed on the process."""
    expected, parents = to_pdf(), current_browser()
    wait_until(
        lambda: not renderer._renderer.browser_manager._background
    )  # the render thread holds nothing that a child would miss
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:  # the child reports through the pipe, and must never come back into the test run
        try:
            same = to_pdf() == expected and current_browser() != parents
            os.write(writing, b"same" if same else b"other")
            rendering.close()
        finally:
            os._exit(0)
    os.close(writing)

    report = os.read(reading, 16) if select.select([reading], [], [], PATIENCE)[0] else b"nothing"
    os.close(reading)
    deadline = time.monotonic() + PATIENCE
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)

    assert report == b"same"
    assert to_pdf() == expected
    assert current_browser() == parents


def test_django_starts_without_playwright_and_knows_the_engine_without_starting_it() -> None:
    """Web processes load no browser."""
    asked = (
        "import django, sys; django.setup(); from pdfjobs import documents, rendering;"
        "print(rendering.engine_version());"
        "import psutil; print('playwright' in sys.modules, len(psutil.Process().children()))"
    )

    answered = run_python("-c", asked, DJANGO_SETTINGS_MODULE="tests.settings")

    assert answered.returncode == 0, answered.stderr
    version, loaded = answered.stdout.splitlines()
    assert "Chrom" in version
    assert version.endswith(f"revision {chromium.REVISION}")
    assert loaded == "False 0"


def test_the_version_is_asked_once_for_as_long_as_the_file_stays_the_same(monkeypatch, tmp_path) -> None:
    binary = tmp_path / "chromium"
    asked = tmp_path / "asked"
    binary.write_text(f"#!/bin/sh\necho x >> {asked}\necho Chromium 1.2\n")
    binary.chmod(0o755)
    monkeypatch.setenv("KILIT_CHROMIUM", str(binary))

    first, again = rendering.engine_version(), rendering.engine_version()
    binary.write_text(f"#!/bin/sh\necho x >> {asked}\necho Chromium 1.2.3\n")
    after = rendering.engine_version()

    assert (first, again, after) == (
        "Chromium 1.2; revision 2",
        "Chromium 1.2; revision 2",
        "Chromium 1.2.3; revision 2",
    )
    assert len(asked.read_text().split()) == 2


def test_the_browser_gets_none_of_our_secrets(browser: psutil.Process, monkeypatch) -> None:
    environment = browser.environ()

    assert "SECRET_KEY" in os.environ
    assert not {"SECRET_KEY", "DATABASE_URL", "DJANGO_SETTINGS_MODULE"} & set(environment)
    assert "FONTCONFIG_FILE" in environment


@pytest.mark.parametrize(("user", "wanted", "on"), [(0, True, False), (1000, True, True), (1000, False, False)])
def test_the_sandbox_is_on_unless_root_or_switched_off(monkeypatch, settings, user, wanted, on) -> None:
    """And a warning is logged when it is off."""
    monkeypatch.setattr(chromium.os, "geteuid", lambda: user)
    settings.PDF_SANDBOX = wanted

    assert chromium.launch_arguments()["chromium_sandbox"] is on
    assert (rendering.sandbox_warning() is None) is on


def test_an_idle_browser_is_closed_with_its_driver_and_the_next_document_starts_it_again(
    to_pdf: Callable[..., bytes], settings
) -> None:
    settings.PDF_BROWSER_IDLE = timedelta(seconds=0.5)
    first = to_pdf()
    idle = renderer._renderer
    family = [idle.browser_manager.driver, *idle.browser_manager.driver.children(recursive=True)]

    wait_for_the_end(*family)
    wait_until(lambda: renderer._renderer is None)

    settings.PDF_BROWSER_IDLE = timedelta(hours=1)
    assert to_pdf() == first
    assert renderer._renderer is not idle


def test_a_page_whose_process_has_grown_is_not_kept(browser, settings, monkeypatch) -> None:
    monkeypatch.setattr(browser_manager, "LARGE", 1_000)
    large = "<!doctype html><p>" + "x" * browser_manager.LARGE

    def render_for(owner: str) -> bool:
        rendering.render(
            [large], rendering.PageOptions.read({}), made_at=MADE_AT, hard_timeout=timedelta(minutes=3), owner=owner
        )
        return owner in renderer._renderer.browser_manager._pages

    assert render_for("small")
    monkeypatch.setattr(browser_manager, "MOST_MEMORY", 1)
    assert not render_for("large")
