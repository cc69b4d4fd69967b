"""The outside watch is called while work gets through, and only then."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.supervisor import BEAT_WITHIN, TASK_ENDS_WITHIN, DeadMansSwitch
from tests.support.alerts import JsonReceiver
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db


@pytest.fixture
def watch(settings) -> Iterator[JsonReceiver]:
    """An outside watch."""
    server = JsonReceiver()
    settings.HEARTBEAT_URL = f"http://127.0.0.1:{server.server_port}/ping/secret-id"
    yield server
    server.stop()


@pytest.fixture
def switch() -> DeadMansSwitch:
    Heartbeat.objects.create(name="here", beat_at=Now())
    SweepRun.objects.create(name="fold_counts", finished_at=Now(), succeeded=True)
    return DeadMansSwitch("here")


def call(switch: DeadMansSwitch) -> None:
    """Tick a minute later, and wait for the call to end."""
    switch.next_call = 0
    switch.tick()
    if switch.thread:
        switch.thread.join(PATIENCE)


def test_the_watch_is_called_once_a_minute_while_work_gets_through(watch, switch) -> None:
    call(switch)
    switch.tick()

    assert watch.paths == ["/ping/secret-id"]
    assert switch.next_call == pytest.approx(time.monotonic() + 60, abs=30)

    call(switch)
    assert len(watch.paths) == 2


def test_nothing_is_called_without_an_address(watch, switch, settings) -> None:
    settings.HEARTBEAT_URL = ""

    call(switch)

    assert watch.paths == []


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Heartbeat, {"beat_at": None}),
        (Heartbeat, {"beat_at": Now() - BEAT_WITHIN - timedelta(seconds=1)}),
        (SweepRun, {"finished_at": Now() - TASK_ENDS_WITHIN - timedelta(seconds=1)}),
        (SweepRun, {"finished_at": None, "succeeded": None}),
        (SweepRun, {"succeeded": False}),
    ],
)
def test_nothing_is_called_while_the_cluster_or_scheduled_tasks_are_stalled(watch, switch, model, columns) -> None:
    model.objects.update(**columns)
    Heartbeat.objects.create(name="another", beat_at=Now())

    call(switch)

    assert watch.paths == []


def test_calls_begin_again_as_soon_as_work_gets_through(watch, switch) -> None:
    Heartbeat.objects.update(beat_at=None)
    call(switch)
    Heartbeat.objects.update(beat_at=Now())

    switch.tick()
    switch.thread.join(PATIENCE)

    assert len(watch.paths) == 1


def test_a_watch_that_does_not_answer_holds_nothing_up(watch, switch) -> None:
    watch.answers.clear()

    for _ in range(3):
        switch.next_call = 0
        switch.tick()  # returns although the watch holds the connection

    assert switch.thread.is_alive()
    watch.answers.set()
    switch.thread.join(PATIENCE)
    assert len(watch.paths) == 1


def test_a_series_of_failures_is_logged_once_and_without_the_address(watch, switch, caplog) -> None:
    caplog.set_level(logging.INFO)
    watch.status = 500
    for _ in range(3):
        call(switch)
    watch.status = 200
    call(switch)

    assert len(watch.paths) == 4
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "500" in caplog.text
    assert "secret-id" not in caplog.text


def test_a_watch_that_is_not_there_is_logged(watch, switch, caplog, settings) -> None:
    settings.HEARTBEAT_URL = "http://127.0.0.1:9/secret-id"

    call(switch)

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "secret-id" not in caplog.text
