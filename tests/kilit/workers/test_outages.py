"""What the processes of a worker do while the database is away: wait, and log it once."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from unittest.mock import Mock

import psycopg
import pytest
from django.db import OperationalError, connection
from django_q.models import OrmQ

from kilit.database.outage import database_outage, standby_outage
from kilit.lock.outages import CommitsWaitError, CommitUnknown
from kilit.workers import doorbells, sweeps
from kilit.workers.broker import Broker, PatientBroker
from kilit.workers.models import Heartbeat, Runner, SweepRun
from kilit.workers.presence import present
from kilit.workers.supervisor import Supervisor

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = OperationalError("the server closed the connection\nunexpectedly")


@pytest.fixture(autouse=True)
def no_outage(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("kilit.workers.broker.OUTAGE_PAUSE", 0)
    yield
    database_outage.end()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert not any(record.exc_info for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


def test_the_pusher_goes_on_waiting(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    broker, take = PatientBroker(list_key="here"), Mock(side_effect=[AWAY, AWAY, [(1, "ring")]])
    monkeypatch.setattr(Broker, "dequeue", take)

    assert [broker.dequeue() for _ in range(3)] == [None, None, [(1, "ring")]]

    begin, end = messages(caplog)
    assert begin == "waiting for the database: the server closed the connection unexpectedly"
    assert end.startswith("the database answers again")


def test_the_monitor_survives_a_task_that_it_cannot_acknowledge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "acknowledge", Mock(side_effect=AWAY))
    connection.ensure_connection()

    PatientBroker(list_key="here").acknowledge(1)

    assert connection.connection is None


def test_the_monitor_acknowledges_on_a_new_connection() -> None:
    broker = PatientBroker(list_key="here")
    task = broker.enqueue("ring")
    with connection.cursor() as cursor, suppress(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    broker.acknowledge(task)

    assert not OrmQ.objects.exists()


def test_the_supervisor_logs_an_outage_once_and_gives_the_cluster_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor = Supervisor()
    monkeypatch.setattr(supervisor, "tick", Mock(side_effect=AWAY))

    for _ in range(3):
        supervisor._tick_safely()

    assert len(messages(caplog)) == 1
    assert supervisor.grace_until > 0


def test_while_a_standby_is_away_supervisor_and_pusher_log_nothing_more_and_stay_connected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor, broker, waits = Supervisor(), PatientBroker(list_key="here"), CommitsWaitError("commits are waiting")
    monkeypatch.setattr(supervisor, "tick", Mock(side_effect=[CommitUnknown("no answer"), waits, waits]))
    monkeypatch.setattr(Broker, "dequeue", Mock(side_effect=waits))
    standby_outage.begin("1 so far")

    supervisor._tick_safely()
    connection.ensure_connection()
    for _ in range(2):
        supervisor._tick_safely()
        broker.dequeue()
    standby_outage.end()

    begin, end = messages(caplog)
    assert begin == "commits are waiting for a synchronous standby (1 so far)"
    assert end.startswith("commits are confirmed by a standby again")
    assert connection.connection is not None


def test_the_supervisor_stops_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor()
    monkeypatch.setattr(Heartbeat.objects, "filter", Mock(side_effect=AWAY))

    supervisor._finish()


def test_a_process_that_stops_in_an_outage_does_not_wait_for_the_database_again(django_assert_num_queries) -> None:
    supervisor = Supervisor()
    Heartbeat.objects.create(name=supervisor.name)
    with present("parcel") as sign:
        sign()
        database_outage.begin(AWAY)
        with django_assert_num_queries(0):
            supervisor._finish()
    # What is left is deleted by others.
    assert (Heartbeat.objects.count(), Runner.objects.count()) == (1, 1)


def deadlock() -> OperationalError:
    error = OperationalError("deadlock detected")
    error.__cause__ = psycopg.errors.DeadlockDetected("deadlock detected")
    return error


def test_a_task_that_an_outage_interrupts_ends_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sweep = Mock(side_effect=AWAY)
    monkeypatch.setitem(sweeps.sweeps, "fold_counts", sweeps.Sweep("fold_counts", timedelta(hours=1), sweep))
    bell = doorbells.Doorbell("parcels", Mock(), Mock(side_effect=AWAY))
    monkeypatch.setitem(doorbells.doorbells, "parcels", bell)

    sweeps.run_as_task("fold_counts")
    doorbells.handle("parcels")

    reason = "was interrupted by an outage of the database: the server closed the connection unexpectedly"
    assert messages(caplog) == [f"sweep fold_counts {reason}", f"work on parcels {reason}"]
    assert SweepRun.objects.get(name="fold_counts").succeeded is False


def test_a_refused_statement_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    bell = doorbells.Doorbell("parcels", Mock(), Mock(side_effect=deadlock()))
    monkeypatch.setitem(doorbells.doorbells, "parcels", bell)

    with pytest.raises(OperationalError, match="deadlock"):
        doorbells.handle("parcels")
