"""How the supervisor judges its cluster."""

import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django_q.models import OrmQ

from kilit.workers.models import Heartbeat
from kilit.workers.supervisor import STALE_AFTER, Supervisor
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db

SILENT = STALE_AFTER + timedelta(seconds=1)


@pytest.fixture
def supervisor() -> Supervisor:
    supervisor = Supervisor()
    Heartbeat.objects.create(name=supervisor.name)
    return supervisor


def heard(supervisor: Supervisor, *, silence: timedelta | None, busy: int, monkeypatch) -> bool:
    beat_at = None if silence is None else Now() - silence
    Heartbeat.objects.filter(name=supervisor.name).update(beat_at=beat_at)
    titles = ["qcluster Process-1 processing lamp-kilo 'x'"] * busy + ["qcluster Process-2 idle"]
    monkeypatch.setattr(supervisor, "_titles", lambda: titles)
    return supervisor._heard()


def test_a_fresh_beat_is_life(supervisor, monkeypatch) -> None:
    assert heard(supervisor, silence=timedelta(seconds=1), busy=0, monkeypatch=monkeypatch)
    assert Heartbeat.objects.alive().exists()


def test_silence_with_a_free_worker_is_death(supervisor, monkeypatch) -> None:
    assert not heard(supervisor, silence=SILENT, busy=settings.WORKERS - 1, monkeypatch=monkeypatch)
    assert not Heartbeat.objects.alive().exists()


def test_silence_while_every_worker_is_busy_is_no_death(supervisor, monkeypatch) -> None:
    assert heard(supervisor, silence=SILENT, busy=settings.WORKERS, monkeypatch=monkeypatch)
    assert Heartbeat.objects.alive().exists()


def test_no_task_may_be_busy_for_ever(supervisor, monkeypatch) -> None:
    too_long = timedelta(seconds=settings.TASK_TIMEOUT + 4) + STALE_AFTER

    assert not heard(supervisor, silence=too_long, busy=settings.WORKERS, monkeypatch=monkeypatch)


def test_a_young_cluster_is_given_time_but_not_called_alive(supervisor, monkeypatch) -> None:
    supervisor._be_patient()

    assert heard(supervisor, silence=None, busy=0, monkeypatch=monkeypatch)
    assert not Heartbeat.objects.alive().exists()


def test_supervisors_of_one_host_and_pid_have_names_of_their_own() -> None:
    assert Supervisor().name != Supervisor().name


def test_supervisors_long_gone_are_forgotten_also_those_that_never_lived() -> None:
    Heartbeat.objects.create(name="old", alive_at=Now() - timedelta(days=2))
    Heartbeat.objects.create(name="stillborn", started_at=Now() - timedelta(days=2))
    Heartbeat.objects.create(name="young")

    assert set(Heartbeat.objects.long_gone().values_list("name", flat=True)) == {"old", "stillborn"}


@pytest.mark.processes
def test_beats_do_not_pile_up_faster_than_they_are_sent(supervisor, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "_heard", lambda: True)
    # However long the first look takes, the next beat is not due.
    monkeypatch.setattr("kilit.workers.supervisor.BEAT_EVERY", timedelta(hours=1))
    supervisor.cluster = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        supervisor.look()
        supervisor.look()
    finally:
        supervisor.cluster.communicate(b"\n", timeout=PATIENCE)

    assert [task.func() for task in OrmQ.objects.all()].count("kilit.workers.heartbeat.beat") == 1
    assert set(OrmQ.objects.values_list("key", flat=True)) == {supervisor.name}
