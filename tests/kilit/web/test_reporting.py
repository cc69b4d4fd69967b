"""Each process adds what it counted to the database; sums stay right whichever process ends."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.models import F
from django.test import Client

from kilit.web.counter import REFUSED, REQUESTS, RequestCounter, Series
from kilit.web.models import WebCounter, WebProcess
from kilit.web.reporter import Reporter
from tests.support.promql import Scrape

pytestmark = pytest.mark.django_db

READS = Series(REQUESTS, ("console", "read", "2xx"))


class Process:
    """A web process: what it counts, and how it reports."""

    def __init__(self, threads: int = 4) -> None:
        self.counter = RequestCounter()
        self.reporter = Reporter(threads=threads, counter=self.counter)

    def serve(self, times: int = 1, *, status: str = "2xx", reason: str | None = None) -> None:
        for _ in range(times):
            self.counter.end(self.counter.begin(), kind="console", method="read", status=status, reason=reason)


def metrics() -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    for name, labels, value in Scrape(Client().get("/metrics").content.decode()).samples:
        found.setdefault(name, {})[labels] = value
    return found


def test_metrics_are_the_sums_of_all_processes() -> None:
    one, other = Process(), Process()
    one.serve(3)
    other.serve(2)
    other.serve(1, status="5xx")
    other.serve(1, status="4xx", reason="forbidden")
    one.reporter.report()
    other.reporter.report()
    one.serve(1)
    one.reporter.report()

    found = metrics()

    requests = found["kilit_web_requests_total"]
    assert requests[frozenset({("kind", "console"), ("method", "read"), ("code", "2xx")})] == 6
    assert requests[frozenset({("kind", "console"), ("method", "read"), ("code", "5xx")})] == 1
    assert requests[frozenset({("kind", "static"), ("method", "read"), ("code", "5xx")})] == 0
    assert found["kilit_web_refused_total"][frozenset({("reason", "forbidden")})] == 1
    assert found["kilit_web_request_seconds_count"][frozenset({("kind", "console")})] == 8
    assert found["kilit_web_request_seconds_bucket"][frozenset({("kind", "console"), ("le", "+Inf")})] == 8
    assert found["kilit_web_processes"] == {frozenset(): 2}
    assert found["kilit_web_threads"] == {frozenset(): 8}


def test_totals_do_not_go_down_when_a_process_ends() -> None:
    one, other = Process(), Process()
    one.serve(3)
    other.serve(2)
    other.reporter.report()
    other.serve(4)

    one.reporter.start()
    one.reporter.end()
    other.reporter.start()
    other.reporter.end()

    assert WebCounter.objects.totals()[READS] == 9
    assert not WebProcess.objects.exists()


def test_old_rows_are_folded_without_a_change_of_the_totals() -> None:
    ended, idle, busy = Process(), Process(), Process()
    for process in (ended, idle, busy):
        process.serve(2)
        process.reporter.report()
    stored = WebCounter.objects.exclude(process=busy.reporter.name)
    stored.update(changed_at=F("changed_at") - timedelta(hours=2))
    before = WebCounter.objects.totals()

    WebCounter.objects.fold(min_age=timedelta(hours=1))
    WebCounter.objects.fold(min_age=timedelta(hours=1))

    assert WebCounter.objects.totals() == before
    assert set(WebCounter.objects.values_list("process", flat=True)) == {"", busy.reporter.name}
    idle.serve(1)
    idle.reporter.report()
    assert WebCounter.objects.totals()[READS] == 7


@pytest.mark.django_db(transaction=True)
def test_folds_and_reports_at_once_lose_nothing(in_threads: Any) -> None:
    processes = [Process() for _ in range(4)]
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for _ in range(20):
            if number < 4:
                processes[number].serve()
                assert processes[number].reporter.report()
            else:
                WebCounter.objects.fold(min_age=timedelta(0))

    in_threads(work, count=8)

    assert WebCounter.objects.totals()[READS] == 80


def test_what_cannot_be_stored_is_kept_for_the_next_report(monkeypatch) -> None:
    process = Process()
    process.serve(2, reason="forbidden")

    def fail(*_: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as patch:
        patch.setattr(WebCounter.objects, "add", fail)
        assert not process.reporter.report()
    process.serve(1)

    assert process.reporter.report()
    totals = WebCounter.objects.totals()
    assert (totals[READS], totals[Series(REFUSED, ("forbidden",))]) == (3, 2)


def test_a_process_that_was_killed_has_no_threads_any_more() -> None:
    killed, alive = Process(), Process(threads=2)
    killed.reporter.report()
    alive.reporter.report()
    WebProcess.objects.filter(name=killed.reporter.name).update(alive_at=F("alive_at") - timedelta(minutes=1))

    assert metrics()["kilit_web_threads"] == {frozenset(): 2}
