"""The status page of the runner on the OptiPlanning PC."""

import http.client
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from config.runner import status
from kilit import __version__
from kilit.database.origin import SchemaOrigin
from orchestrator.workflow import preflight
from orchestrator.workflow.preflight import CheckLevel, PreflightCheck
from orchestrator.workflow.runner import current_jobs, working_on
from tests.support.commands import free_port
from tests.support.cutting_jobs import make_job
from tests.support.fixtures.cutting_jobs import floor
from tests.support.waiting import PATIENCE

__all__ = ["floor"]

pytestmark = pytest.mark.django_db


class Browser:
    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str = "/", *, method: str = "GET", **headers: str) -> tuple[Any, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read().decode()


@pytest.fixture
def browser(floor: Any) -> Iterator[Browser]:
    port = free_port()
    with status.status_page(port, log=Path("/kilit/runner.log")):
        yield Browser(port)


def test_the_page_shows_what_the_runner_reaches(browser, floor) -> None:
    answer, text = browser.get()

    assert answer.status == 200
    assert '<h1 class="PASS">' in text
    assert f"{floor.imports} can be read and written." in text
    assert "answers." in text  # the database
    assert "No order is being worked on." in text
    assert "/kilit/runner.log" in text
    assert '<meta http-equiv="refresh" content="10">' in text
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; img-src data:; style-src 'self';")
    assert answer.headers["Cache-Control"] == "no-store"
    assert browser.get("/status.css")[0].status == 200


def test_the_page_names_what_fails(browser, floor) -> None:
    floor.export.rmdir()

    _, text = browser.get()

    assert '<h1 class="FAIL">' in text
    assert f"{floor.export}: No such file or directory." in text


def test_the_page_shows_the_job_and_its_state(browser) -> None:
    job = make_job(order_id="S-<1>")
    with working_on(job):
        _, text = browser.get()

    assert "Order S-&lt;1&gt;: " in text
    assert "No order is being worked on." not in text
    assert current_jobs() == []


def test_the_page_is_in_the_browsers_language(browser) -> None:
    _, turkish = browser.get(Accept_Language="de-DE, tr-TR;q=0.9, en;q=0.5")
    _, english = browser.get(Accept_Language="de-DE, xx")

    assert '<html lang="tr">' in turkish
    assert "okunabiliyor" in turkish
    assert '<html lang="en">' in english


@pytest.mark.parametrize("host", ["kilit.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_for_this_machine_is_refused(browser, host: str) -> None:
    answer, text = browser.get(Host=host.format(port=browser.port))

    assert (answer.status, "folder" in text) == (403, False)


def test_the_page_is_served_on_loopback_only() -> None:
    with status.StatusServer(0, log=Path("log")) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_there_is_nothing_but_the_page(browser) -> None:
    assert browser.get(Host=f"localhost:{browser.port}")[0].status == 200
    assert browser.get("/../settings.py")[0].status == 404
    assert browser.get("/", method="POST")[0].status == 501


def test_a_port_that_is_taken_costs_only_the_page(browser, caplog) -> None:
    with status.status_page(browser.port, log=Path("log")):
        assert f"no status page: port {browser.port} of this PC cannot be used" in caplog.text


def test_two_browsers_take_turns(browser, monkeypatch) -> None:
    asked_twice = threading.Event()

    class WatchedLock:
        lock = threading.Lock()

        def __enter__(self) -> None:
            if self.lock.locked():
                asked_twice.set()
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    def check() -> list[PreflightCheck]:
        level = CheckLevel.PASS if asked_twice.wait(PATIENCE) else CheckLevel.FAIL
        return [PreflightCheck("database", level, "")]

    monkeypatch.setattr(preflight, "_turn", WatchedLock())
    monkeypatch.setattr(status, "check_database", check)
    monkeypatch.setattr(preflight.run_checks, "__kwdefaults__", {"limit": 2 * PATIENCE})

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: browser.get()[1], range(2))

    assert '<h1 class="PASS">' in first
    assert '<h1 class="PASS">' in second


def test_the_versions_of_runner_and_server_are_compared() -> None:
    applied = frozenset((label, path.stem) for label in status.APPS for path in status._migrations(label))
    newest = max(key for key in applied if key[0] == "orchestrator")
    foreign = applied | {("orchestrator", "9999_later"), ("ociqueue", "9999_other")}

    older = status.compare_versions(SchemaOrigin(__version__, applied - {newest}))
    newer = status.compare_versions(SchemaOrigin("9999.0", foreign))
    unreleased = status.compare_versions(SchemaOrigin(__version__, foreign))

    assert list(status.compare_versions(SchemaOrigin(__version__, applied | {("ociqueue", "9999_other")}))) == []
    (check,) = older
    assert check.level == CheckLevel.FAIL
    assert check.message.endswith(f"Missing: orchestrator.{newest[1]}.")
    assert [check.level for check in newer] == [CheckLevel.WARN]
    (check,) = unreleased
    assert check.level == CheckLevel.FAIL
    assert "an unreleased version" in check.message
