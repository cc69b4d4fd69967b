"""SIGKILL of each process of the worker tree in turn: the work goes on by itself, and no orphan keeps running."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import psutil
from django.utils import timezone

from kilit.lock.models import Count, Event
from kilit.workers.models import Heartbeat
from kilit.workers.supervisor import STALE_AFTER
from tests.apps.parcels.models import Parcel
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until
from tests.support.workers import Workers

AFTER_THE_PIPES = timedelta(seconds=1)  # what was in a pipe at the kill may still come through


def all_delivered() -> bool:
    return not Parcel.objects.exclude(status="DELIVERED").exists()


def kill(*victims: psutil.Process) -> None:
    for victim in victims:
        with suppress(psutil.NoSuchProcess):  # the death of the first may have ended it already
            victim.kill()


def let_leases_lapse(**columns: Any) -> None:
    """Let the time pass for what the dead carried."""
    Parcel.objects.filter(status="CARRIED").update(lease_until="2020-01-01T00:00Z", **columns)


VICTIMS: dict[str, Callable[[Workers], list[psutil.Process]]] = {
    "cluster parent": lambda workers: [workers.cluster],
    "sentinel": lambda workers: [workers.sentinel],
    "pusher": lambda workers: workers.titled("pusher"),
    "monitor": lambda workers: workers.titled("monitor"),
    "all idle workers": lambda workers: workers.titled("idle"),
    "the whole cluster": lambda workers: [*workers.cluster.children(recursive=True), workers.cluster],
}


def test_work_goes_on_after_the_death_of_each(workers: Workers) -> None:
    """One after the other under the same supervisor: it gets over all of them."""
    for number, (victim, find) in enumerate(VICTIMS.items(), start=1):
        kill(*wait_until(partial(find, workers)))  # a worker may be busy with a sweep
        killed_at = timezone.now()
        Parcel.objects.bulk_create(Parcel() for _ in range(20))

        wait_until(all_delivered)
        # Delivered is not enough: a cluster whose monitor is deaf delivers too, and never acknowledges.
        wait_until(Heartbeat.objects.filter(beat_at__gt=killed_at + AFTER_THE_PIPES).exists)
        assert Count.objects.by_state(queue="parcel") == {"DELIVERED": 20 * number}, victim
    workers.stop()
    wait_until(lambda: workers.running() == [])


def test_work_goes_on_after_the_death_of_a_busy_worker(workers: Workers) -> None:
    parcel = Parcel.objects.create(work=600)  # so that it is carried for as long as the test needs
    wait_until(lambda: Parcel.objects.filter(status="CARRIED").exists())

    busy = workers.titled("processing")  # another may be at a sweep
    kill(*busy)
    wait_for_the_end(*busy)
    let_leases_lapse(work=0)
    Parcel.objects.bulk_create(Parcel() for _ in range(20))

    wait_until(all_delivered)
    carried_twice = Parcel.objects.get(pk=parcel.pk)
    verbs = [event.details.get("verb") for event in Event.objects.of(carried_twice)]
    assert verbs == [None, "claim", "recover", "claim", "deliver"]
    assert carried_twice.attempt_count == 2


def test_a_killed_supervisor_takes_its_cluster_along_and_a_new_one_goes_on(workers: Workers) -> None:
    Parcel.objects.create(work=3)
    wait_until(lambda: Parcel.objects.filter(status="CARRIED").exists())

    kill(workers.supervisor)

    workers.popen.wait(timeout=PATIENCE)
    wait_until(lambda: workers.running() == [])
    let_leases_lapse()
    workers.start()
    wait_until(all_delivered)


def test_everything_killed_at_once_loses_nothing(workers: Workers) -> None:
    Parcel.objects.bulk_create(Parcel(work=0.2) for _ in range(20))
    wait_until(lambda: Parcel.objects.filter(status="DELIVERED").exists())

    kill(*workers.all())

    workers.popen.wait(timeout=PATIENCE)
    wait_until(lambda: workers.running() == [])
    let_leases_lapse()
    workers.start()
    wait_until(all_delivered)
    assert Event.objects.filter(to_state="DELIVERED").count() == 20


def test_sigterm_lets_the_running_task_finish(workers: Workers) -> None:
    Parcel.objects.create(work=3)
    wait_until(lambda: Parcel.objects.filter(status="CARRIED").exists())

    workers.stop()

    parcel = Parcel.objects.get()
    assert (parcel.status, parcel.attempt_count) == ("DELIVERED", 1)
    assert workers.popen.returncode == 0
    wait_until(lambda: workers.running() == [])
    assert not Heartbeat.objects.exists()


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
