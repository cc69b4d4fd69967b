"""While the database is read-only, workers and runners wait: one line when it begins, one when it is over."""

import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django_q.models import OrmQ

from kilit.workers.broker import PatientBroker
from kilit.workers.models import Heartbeat
from kilit.workers.supervisor import Supervisor
from orchestrator.workflow.watching import Watcher
from tests.support.cutting_jobs import make_job
from tests.support.faulty_network import connected_to
from tests.support.read_only import read_only_database

pytestmark = pytest.mark.django_db(transaction=True)


class Turns(threading.Event):
    """A runner's stop event that is set after so many waits."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number

    def wait(self, timeout: float | None = None) -> bool:
        self.left -= 1
        if not self.left:
            self.set()
        return self.is_set()


def test_workers_and_runners_log_it_once_and_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kilit.workers.broker.OUTAGE_PAUSE", 0)
    OrmQ.objects.create(key="here", payload="ring", lock="2026-01-01T00:00:00Z")
    make_job()
    supervisor, broker = Supervisor(), PatientBroker(list_key="here")
    monkeypatch.setattr(supervisor, "_restart", lambda _why: None)

    with read_only_database():
        for _ in range(3):
            supervisor._tick_safely()
            assert broker.dequeue() is None
        Watcher(Turns(3), lambda: None).take_quick_steps()
    waiting = [record.getMessage() for record in caplog.records]
    assert [task for task, _ in broker.dequeue()] == [OrmQ.objects.get().pk]

    assert len(waiting) == 1
    assert waiting[0].startswith("waiting for a database that can be written: cannot execute")
    assert caplog.records[-1].getMessage().startswith("the database can be written again")
    assert not any(record.exc_info for record in caplog.records)


OUTAGES = {
    "a database that can be written": read_only_database,
    "the database": lambda: connected_to(HOST="127.0.0.1", PORT="1"),
}


@pytest.mark.parametrize("awaited", OUTAGES)
def test_a_supervisor_that_starts_meanwhile_waits_and_says_what_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, awaited: str
) -> None:
    outage: Callable[[], AbstractContextManager[object]] = OUTAGES[awaited]
    supervisor, started = Supervisor(), threading.Event()
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def start() -> None:
        assert Heartbeat.objects.get().name == supervisor.name
        started.set()
        supervisor.stopping.set()

    monkeypatch.setattr(supervisor, "_start", start)
    with outage():
        supervisor.stopping = Turns(3)  # as SIGTERM would, meanwhile
        supervisor.run()
        assert not started.is_set()
    supervisor.stopping = threading.Event()
    supervisor.run()

    assert started.is_set()
    begin, end = [line.getMessage() for line in caplog.records if line.name == "kilit.database.outage"]
    assert begin.startswith(f"waiting for {awaited}: ")
    assert "again, after" in end
    assert not any(record.exc_info for record in caplog.records)
