"""Workers, sweeps and bells, to be looked at."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.problems.processes import DoorbellStatus, ProcessStatus, ScheduledTask
from kilit.workers import sweeps
from kilit.workers.doorbells import RING_AGAIN_AFTER
from kilit.workers.models import Bell, Heartbeat, Runner, SweepRun
from kilit.workers.sweeps import ENDS_WITHIN, STARTS_WITHIN
from tests.support.dashboard import text_of

PAGE = "/admin/workers/"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERY = timedelta(minutes=5)
SOON = timedelta(seconds=1)
SWEEP = sweeps.Sweep("tidy", EVERY, lambda: "")


def task(**columns: Any) -> ScheduledTask:
    return ScheduledTask(SWEEP, SweepRun(name="tidy", **columns), NOW)


def ended(ago: timedelta, **columns: Any) -> ScheduledTask:
    """Return a sweep that was taken, ran and ended so long ago."""
    at = NOW - ago
    return task(**{"taken_at": at, "started_at": at, "finished_at": at + SOON, "succeeded": True, **columns})


@pytest.mark.parametrize(
    ("scheduled", "word"),
    [
        (task(), "never ran"),
        (ended(EVERY - SOON), "OK"),
        (ended(EVERY + STARTS_WITHIN - SOON), "OK"),
        (ended(EVERY + STARTS_WITHIN + SOON), "overdue"),
        (ended(SOON, succeeded=False), "failed"),
        (ended(SOON, finished_at=None, succeeded=None), "running"),
        (ended(ENDS_WITHIN + SOON, finished_at=None, succeeded=None), "interrupted"),
        (ended(EVERY, taken_at=NOW - SOON), "OK"),
        (ended(EVERY, taken_at=NOW - STARTS_WITHIN - SOON), "not run"),
        (task(taken_at=NOW - STARTS_WITHIN - SOON), "not run"),
    ],
)
def test_a_sweep_is_red_when_it_is_late_or_failed(scheduled: ScheduledTask, word: str) -> None:
    assert scheduled.condition.word == word
    assert scheduled.condition.is_bad is (word in {"overdue", "failed", "interrupted", "not run"})
    assert scheduled.condition.hint


def test_a_sweep_tells_when_its_next_turn_is_and_how_long_it_took() -> None:
    assert (task().next_at, task().took) == (None, None)
    assert (ended(SOON).next_at, ended(SOON).took) == (NOW - SOON + EVERY, SOON)


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"alive_at": NOW - timedelta(seconds=29)}, "running"),
        ({"alive_at": NOW - timedelta(seconds=31)}, "not responding"),
        ({"alive_at": None}, "starting"),
        ({"alive_at": None, "started_at": NOW - timedelta(minutes=2)}, "not responding"),
    ],
)
def test_a_supervisor_is_running_starting_or_not_responding(columns: dict[str, Any], word: str) -> None:
    beat = Heartbeat(**{"name": "cutter:pc:7:abc", "started_at": NOW - SOON, **columns})

    assert ProcessStatus(beat, NOW).condition.word == word
    assert ProcessStatus(beat, NOW).host == "cutter:pc"


@pytest.mark.parametrize(("seconds", "word"), [(29, "running"), (31, "not responding")])
def test_a_runner_is_running_or_not_responding(seconds: int, word: str) -> None:
    runner = Runner(name="opti:pc:7:abc", queue="cutting_job", pid=7, alive_at=NOW - timedelta(seconds=seconds))

    assert ProcessStatus(runner, NOW).condition.word == word
    assert ProcessStatus(runner, NOW).host == "opti:pc"
    assert str(ProcessStatus(runner, NOW).queue) == "Panel cutting"


@pytest.mark.django_db
def test_runners_are_shown_here_and_on_the_dashboard(admin_client) -> None:
    assert "None is running." in text_of(admin_client, PAGE)

    Runner.objects.create(name="opti-pc:4712:abc", queue="cutting_job", pid=4712)
    Runner.objects.create(name="opti-pc:4:def", queue="cutting_job", pid=4, alive_at=Now() - timedelta(minutes=5))

    for word in ("opti-pc", "process 4712", "process 4", "Panel cutting", "running", "not responding"):
        assert word in text_of(admin_client, PAGE)
    Runner.objects.filter(pid=4).update(name="old-pc:4:def")
    assert "A runner does not respond · Panel cutting" in text_of(admin_client, "/admin/")


def test_a_bell_is_quiet_rings_or_is_not_answered() -> None:
    assert DoorbellStatus("x", None, NOW).condition.word == "quiet"
    assert DoorbellStatus("x", NOW - SOON, NOW).condition.word == "ringing"
    assert DoorbellStatus("x", NOW - RING_AGAIN_AFTER - SOON, NOW).condition.word == "unanswered"


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_every_role_may_look(make_person, role: str) -> None:
    Heartbeat.objects.create(name="cutter:4711:abc", pid=4711, alive_at=Now(), beat_at=Now(), restarts=3)
    Bell.objects.create(name="pdf", rung_at=Now())
    SweepRun.note("pdf_reap", taken_at=Now(), started_at=Now(), finished_at=Now(), succeeded=False, result="Disk full")

    text = text_of(make_person(role=role), PAGE)

    for word in ("cutter", "process 4711", "running", "ringing", "Disk full", "failed", "15 seconds", *sweeps.sweeps):
        assert word in text


@pytest.mark.django_db
def test_every_sweep_says_what_it_is_for() -> None:
    ours = [sweep for sweep in sweeps.sweeps.values() if sweep.run.__module__.split(".")[0] != "tests"]

    assert len(ours) >= 8
    assert [sweep.name for sweep in ours if not sweep.about] == []


@pytest.mark.django_db
def test_without_a_worker_the_page_says_what_to_run(admin_client) -> None:
    assert "manage.py runworkers" in text_of(admin_client, PAGE)


@pytest.mark.django_db
def test_who_may_not_see_workers_is_refused(make_person, client) -> None:
    assert make_person(role=None).get(PAGE).status_code == 403
    assert client.get(PAGE).status_code == 302
    assert make_person("ali", role="viewer").post(PAGE).status_code == 405
