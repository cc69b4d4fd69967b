"""SIGKILL of each process of the worker tree in turn: the work goes on by itself, and no orphan keeps running."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import psutil
import pytest
from django.utils import timezone

from kilit.lock.models import Count, Event
from kilit.workers.models import Heartbeat
from kilit.workers.supervisor import STALE_AFTER
from tests.apps.parcels.models import Parcel
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import Workers

AFTER_THE_PIPES = timedelta(seconds=1)  # what was in a pipe at the kill may still come through


@dataclass(frozen=True)
class Victims:
    find: Callable[[Workers], list[psutil.Process]]
    carry: bool = False  # a parcel, for as long as the test needs
    end_all: bool = False  # nobody is left to start them again


VICTIMS = {
    "sentinel": Victims(lambda workers: [workers.cluster]),
    "a busy worker": Victims(lambda workers: workers.titled("processing"), carry=True),
    "everything": Victims(lambda workers: workers.all(), carry=True, end_all=True),
    "pusher": Victims(lambda workers: workers.titled("pusher")),
    "monitor": Victims(lambda workers: workers.titled("monitor")),
    "all idle workers": Victims(lambda workers: workers.titled("idle")),
    "the whole cluster": Victims(lambda workers: [*workers.cluster.children(recursive=True), workers.cluster]),
    "supervisor": Victims(lambda workers: [workers.supervisor], carry=True, end_all=True),
}
BY_DAY = 2  # of them; each takes seconds


def all_delivered() -> bool:
    return not Parcel.objects.exclude(status="DELIVERED").exists()


def is_carried() -> bool:
    return Parcel.objects.filter(status="CARRIED").exists()


@pytest.mark.parametrize(
    "names",
    [[*VICTIMS][:BY_DAY], pytest.param([*VICTIMS][BY_DAY:], marks=pytest.mark.nightly)],
    ids=", ".join,
)
def test_work_goes_on_after_the_death_of(names: list[str], workers: Workers) -> None:
    """One after the other: whoever is left gets over all of them."""
    for number, name in enumerate(names, start=1):
        victims = VICTIMS[name]
        parcel = Parcel.objects.create(work=600 * victims.carry)
        if victims.carry:
            wait_until(is_carried)
        workers.kill(*wait_until(partial(victims.find, workers)))  # a worker may be busy with a sweep
        killed_at = timezone.now()
        if victims.end_all:
            workers.popen.wait(timeout=PATIENCE)
            wait_until(lambda: workers.running() == [])
            workers.start()
        if victims.carry:  # let the time pass for what the dead carried
            Parcel.objects.filter(status="CARRIED").update(lease_until="2020-01-01T00:00Z", work=0)
        Parcel.objects.bulk_create(Parcel() for _ in range(20))

        wait_until(all_delivered)
        # Delivered is not enough: a cluster whose monitor is deaf delivers too, and never acknowledges.
        wait_until(Heartbeat.objects.filter(beat_at__gt=killed_at + AFTER_THE_PIPES).exists)
        assert Count.objects.by_state(queue="parcel") == {"DELIVERED": 21 * number}, name
        verbs = [event.details.get("verb") for event in Event.objects.of(parcel)]
        if victims.carry:
            assert verbs == [None, "claim", "recover", "claim", "deliver"], name
    workers.stop()
    wait_until(lambda: workers.running() == [])


def test_sigterm_lets_the_running_task_finish(workers: Workers) -> None:
    Parcel.objects.create(work=3)
    wait_until(is_carried)

    workers.stop()

    parcel = Parcel.objects.get()
    assert (parcel.status, parcel.attempt_count) == ("DELIVERED", 1)
    assert workers.popen.returncode == 0
    wait_until(lambda: workers.running() == [])
    assert not Heartbeat.objects.exists()


@pytest.mark.nightly  # it waits for as long as a dead cluster is waited for
def test_three_supervisors_on_one_database_leave_each_other_alone(transactional_db: None) -> None:
    """Each cluster has a queue of its own, so none is taken for dead because another drew its beat."""
    trio = [Workers() for _ in range(3)]
    try:
        for workers in trio:
            workers.start()
        wait_for = timezone.now() + STALE_AFTER + timedelta(seconds=5)
        while timezone.now() < wait_for:
            Parcel.objects.bulk_create(Parcel() for _ in range(3))
            time.sleep(1)

        wait_until(all_delivered)
        assert list(Heartbeat.objects.values_list("restarts", flat=True)) == [0, 0, 0]
        assert Heartbeat.objects.alive().count() == 3
    finally:
        for workers in trio:
            workers.stop()
