"""When the supervisor considers its cluster alive, and how often it rings."""

import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ

from kilit.workers import doorbells, sweeps
from kilit.workers.cluster import Cluster, StopPipe
from kilit.workers.models import Bell, Heartbeat, SweepRun
from kilit.workers.notifications import LATER
from kilit.workers.supervisor import CHECK_EVERY, IDLE_BEAT_EVERY, STALE_AFTER, Supervisor
from tests.apps.parcels.models import Parcel
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db

SILENT = STALE_AFTER + timedelta(seconds=1)
TOO_LONG = timedelta(seconds=settings.TASK_TIMEOUT + 4) + STALE_AFTER


@pytest.fixture
def supervisor() -> Supervisor:
    supervisor = Supervisor()
    Heartbeat.objects.create(name=supervisor.name)
    return supervisor


def until_stopped(_name: str, stop: StopPipe) -> None:
    stop.wait(PATIENCE)


def healthy(supervisor: Supervisor, *, silence: timedelta | None, busy: int, monkeypatch) -> bool:
    beat_at = None if silence is None else Now() - silence
    Heartbeat.objects.filter(name=supervisor.name).update(beat_at=beat_at)
    titles = ["qcluster Process-1 processing lamp-kilo 'x'"] * busy + ["qcluster Process-2 idle"]
    monkeypatch.setattr(supervisor, "_titles", lambda: titles)
    return supervisor._is_healthy()


@pytest.mark.parametrize(
    ("silence", "busy", "is_alive"),
    [
        (timedelta(seconds=1), 0, True),
        (SILENT, settings.WORKERS - 1, False),
        (SILENT, settings.WORKERS, True),
        (TOO_LONG, settings.WORKERS, False),
    ],
    ids=["a recent beat", "a free worker", "only busy workers", "busy beyond the task timeout"],
)
def test_a_cluster_is_alive_by_its_beat_or_while_all_its_workers_are_busy(
    supervisor, monkeypatch, silence: timedelta, busy: int, is_alive
) -> None:
    assert healthy(supervisor, silence=silence, busy=busy, monkeypatch=monkeypatch) is is_alive
    assert Heartbeat.objects.alive().exists() is is_alive


def test_a_new_cluster_is_given_time_but_not_called_alive(supervisor, monkeypatch) -> None:
    supervisor._allow_grace()

    assert healthy(supervisor, silence=None, busy=0, monkeypatch=monkeypatch)
    assert not Heartbeat.objects.alive().exists()


def test_a_cluster_that_hangs_is_replaced_within_a_minute() -> None:
    """By these limits, and ten seconds to start; that it happens is seen where processes are killed."""
    noticed = STALE_AFTER + CHECK_EVERY + timedelta(seconds=LATER)

    assert noticed + timedelta(seconds=10) <= timedelta(minutes=1)
    assert IDLE_BEAT_EVERY + timedelta(seconds=LATER) < STALE_AFTER, "a beat that is due comes in time"


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_look_takes_each_sweep_whose_time_has_come_once(supervisor, is_busy) -> None:
    sweeps.reconcile()

    taken = [sweeps.taken_in(supervisor._due_query.run(is_busy=is_busy)) for _ in range(2)]

    assert taken == [[name for name, sweep in sweeps.sweeps.items() if not sweep.due], []]
    assert not SweepRun.objects.filter(taken_at=None).exists()


@pytest.fixture
def looks(supervisor, monkeypatch) -> Callable[[], Iterator[int]]:
    """Let the supervisor look once a second for a minute; after each look a worker answers, and takes no row."""
    for name, answer in {"_has_ended": False, "_is_healthy": True, "_beat": None}.items():
        monkeypatch.setattr(supervisor, name, lambda answer=answer: answer)
    sweeps.reconcile()
    SweepRun.objects.update(taken_at=Now())

    def minute() -> Iterator[int]:
        for second in range(60):
            monkeypatch.setattr(doorbells, "time", SimpleNamespace(monotonic=lambda now=second: now))
            supervisor.tick()
            Bell.objects.update(rung_at=None)
            yield OrmQ.objects.filter(key=supervisor.name).count()

    return minute


def test_rows_that_no_worker_may_take_cost_a_look_and_every_five_seconds_a_ring(supervisor, looks) -> None:
    Parcel.objects.create()

    with CaptureQueriesContext(connection) as queries:
        rings = list(looks())

    assert rings[0] == 1
    assert rings[-1] == 60 / LATER
    asked = [query for query in queries if "workers_bell" in query["sql"] and "SELECT" in query["sql"]]
    assert len(asked) == 2 * rings[-1]  # a look at the bell, and the ring


def test_rows_that_no_worker_may_take_do_not_keep_a_supervisor_busy(supervisor, looks) -> None:
    Parcel.objects.create()
    minute = looks()
    next(minute)
    assert supervisor.poller.is_busy

    supervisor.poller._busy_until = 0.0
    list(minute)

    assert not supervisor.poller.is_busy


def test_a_bell_rings_at_once_when_its_rows_were_taken_meanwhile(looks) -> None:
    minute = looks()
    Parcel.objects.create()
    before = [next(minute) for _ in range(10)][-1]
    doorbells.handle("parcels")
    next(minute)

    Parcel.objects.create()

    assert next(minute) == before + 1


def test_supervisors_of_one_host_and_pid_have_different_names() -> None:
    assert Supervisor().name != Supervisor().name


def test_supervisors_without_a_sign_of_life_for_a_day_are_long_gone() -> None:
    Heartbeat.objects.create(name="old", alive_at=Now() - timedelta(days=2))
    Heartbeat.objects.create(name="never alive", started_at=Now() - timedelta(days=2))
    Heartbeat.objects.create(name="new")

    assert set(Heartbeat.objects.long_gone().values_list("name", flat=True)) == {"old", "never alive"}


@pytest.mark.processes
def test_a_beat_is_sent_only_when_it_is_due(supervisor, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "_is_healthy", lambda: True)
    # However long the first tick takes, the next beat is not due.
    monkeypatch.setattr("kilit.workers.supervisor.IDLE_BEAT_EVERY", timedelta(hours=1))
    supervisor.cluster = Cluster(supervisor.name, run=until_stopped)
    try:
        supervisor.tick()
        supervisor.tick()
    finally:
        supervisor.cluster.stop()
        assert supervisor.cluster.wait(PATIENCE)

    assert [task.func() for task in OrmQ.objects.all()].count("kilit.workers.heartbeat.beat") == 1
    assert set(OrmQ.objects.values_list("key", flat=True)) == {supervisor.name}


@pytest.mark.processes
def test_a_signal_reaches_the_cluster_at_once_and_nothing_replaces_it(supervisor) -> None:
    supervisor.cluster = cluster = Cluster(supervisor.name, run=until_stopped)

    supervisor._stop(signal.SIGTERM, None)  # in the middle of a tick, which may be waiting for the database

    assert cluster.wait(PATIENCE)
    supervisor.tick()
    assert supervisor.cluster is cluster
    supervisor._finish()
    assert not Heartbeat.objects.filter(name=supervisor.name).exists()
