"""The watching runner: when it looks, what wakes its two threads, and what it does without a database."""

import threading
from datetime import date, timedelta

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from kilit.database.outage import database_outage
from kilit.lock.leases import new_lease
from orchestrator.models import Job
from orchestrator.workflow import watching
from orchestrator.workflow.watching import Watcher
from tests.support.cutting_jobs import make_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

A_MINUTE = timedelta(minutes=1)


@pytest.fixture
def ticks(monkeypatch) -> list[bool]:
    """Note for which of the threads it was, instead of working."""
    noted: list[bool] = []
    monkeypatch.setattr(watching, "tick", lambda **options: noted.append(options["patient"]) or 0)
    return noted


@pytest.fixture
def watcher(monkeypatch) -> Watcher:
    watcher = Watcher(threading.Event(), lambda: None)
    monkeypatch.setattr(watcher.poller, "wait", lambda **_: None)
    monkeypatch.setattr(watching.connection, "close", lambda: None)
    monkeypatch.setattr(watching, "RETRY", 0)
    return watcher


def test_with_nothing_to_do_a_look_is_one_statement_by_a_plan_that_is_kept(watcher, ticks, sql) -> None:
    with CaptureQueriesContext(connection) as others:
        watcher._look()
        watcher._look()

    kept = "SELECT generic_plans FROM pg_prepared_statements WHERE name = %s"
    assert sql(kept, watcher.due_query._name) == [(2,)]
    assert len(others) == 0

    assert ticks == []
    assert not watcher.has_due_jobs.is_set()
    assert not watcher.poller.is_busy


def test_a_due_job_wakes_both_threads(watcher, ticks) -> None:
    make_job()

    watcher._look()

    assert ticks == [False]
    assert watcher.has_due_jobs.is_set()


def test_due_jobs_that_this_runner_may_not_take_do_not_keep_it_busy(watcher, ticks) -> None:
    """Without rules, say; a job that moves on is announced, and an announcement makes the next looks short."""
    make_job()

    watcher._look()
    watcher._look()

    assert ticks == [False, False]
    assert not watcher.poller.is_busy


def test_jobs_are_found_when_they_are_due_soon_due_or_lost_by_a_runner(watcher) -> None:
    def look() -> set[str]:
        return watcher.due_query.run(is_busy=False)

    job = make_job()
    rows = Job.objects.filter(pk=job.pk)

    rows.update(next_run_at=Now() + A_MINUTE)
    assert look() == set()
    rows.update(next_run_at=Now() + timedelta(seconds=watching.LATER) / 2)
    assert look() == {"soon"}
    rows.update(next_run_at=Now())
    assert look() == {"now"}
    rows.update(**new_lease(A_MINUTE))
    assert look() == set()
    rows.update(lease_until=Now() - A_MINUTE)
    assert look() == {"now"}


def test_the_time_in_the_statement_is_the_databases(watcher) -> None:
    assert not [param for param in watcher.due_query._query.params if isinstance(param, date)]


def test_long_steps_are_taken_when_the_other_thread_finds_due_jobs_or_is_stuck(watcher, monkeypatch) -> None:
    taken = []

    def tick(*, patient: bool, only: object, stopping: object) -> int:
        taken.append(patient)
        watcher.stop.set()
        return 0

    monkeypatch.setattr(watching, "tick", tick)
    monkeypatch.setattr(watching, "LATER", 0)
    watcher.looked_at = float("inf")  # it has just looked

    watcher.has_due_jobs.set()
    watcher.take_long_steps()
    assert taken == [True]

    watcher.stop.clear()
    watcher.looked_at = float("-inf")
    watcher.take_long_steps()
    assert taken == [True, True]


def test_an_outage_of_the_database_is_logged_once(watcher, monkeypatch, caplog) -> None:
    tries = []

    def away() -> None:
        tries.append(1)
        if len(tries) == 3:
            watcher.stop.set()
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(watcher, "_look", away)

    watcher.take_quick_steps()

    assert len(tries) == 3
    assert [record.message for record in caplog.records] == ["waiting for the database: the connection is closed"]
    database_outage.end()


def test_an_unexpected_error_ends_no_thread(watcher, monkeypatch, caplog) -> None:
    def fail() -> None:
        watcher.stop.set()
        raise ValueError("not expected")

    monkeypatch.setattr(watcher, "_look", fail)

    watcher.take_quick_steps()

    assert [record.message for record in caplog.records] == ["unexpected error in the runner"]
