"""Races with real threads and connections: each shows the race when the guard is off, and none when it is on."""

import random
import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from kilit.lock.guard import MoveRefused
from kilit.lock.leases import new_lease
from kilit.lock.models import Count, ErrorGroup, Event
from tests.apps.parcels.models import Parcel
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 8


def test_of_eight_threads_claiming_one_row_one_wins(in_threads) -> None:
    parcel = Parcel.objects.create()
    start = threading.Barrier(THREADS)

    def claim(_: int) -> bool:
        mine = Parcel.objects.get()
        start.wait(timeout=PATIENCE)
        try:
            mine.move("claim", **new_lease(timedelta(seconds=30)))
        except MoveRefused:
            return False
        return True

    winners = in_threads(claim, count=THREADS)

    assert winners.count(True) == 1
    assert [event.to_state for event in Event.objects.of(parcel)] == ["WAITING", "CARRIED"]


def test_the_race_is_real_without_the_where(in_threads) -> None:
    Parcel.objects.create()
    start = threading.Barrier(THREADS)

    def claim_by_looking_first(_: int) -> int:
        seen = Parcel.objects.get().status
        start.wait(timeout=PATIENCE)
        if seen != "WAITING":
            return 0
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE parcels_parcel SET status = 'CARRIED', claim_token = gen_random_uuid(), lease_until = now()"
            )
            return cursor.rowcount

    assert sum(in_threads(claim_by_looking_first, count=THREADS)) == THREADS


def test_what_is_recorded_during_a_move_comes_after_it_in_the_new_state(in_threads) -> None:
    parcel = Parcel.objects.create()
    moved, recorded = threading.Event(), threading.Event()

    def move_or_record(number: int) -> None:
        if number:
            assert moved.wait(timeout=PATIENCE)
            Event.objects.record(parcel, "SEEN")
            recorded.set()
            return
        with transaction.atomic():
            Parcel.objects.get().move("lose")
            moved.set()
            wait_until(lambda: has_waiter() or recorded.is_set())

    in_threads(move_or_record, count=2)

    states = [(event.from_state, event.to_state) for event in Event.objects.of(parcel)]
    assert states == [("", "WAITING"), ("WAITING", "LOST"), ("LOST", "LOST")]


def test_concurrent_takers_share_the_rows_without_waiting_or_doubling(in_threads) -> None:
    Parcel.objects.bulk_create(Parcel() for _ in range(2000))

    def take_all(_: int) -> list:
        mine = []
        while taken := Parcel.objects.claim(limit=50):
            mine += [parcel.pk for parcel in taken]
        return mine

    hauls = in_threads(take_all, count=THREADS)

    taken = [key for haul in hauls for key in haul]
    assert len(taken) == len(set(taken)) == 2000
    assert set(Parcel.objects.values_list("attempt_count", flat=True)) == {1}


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_totals_stay_exact_under_bulk_moves_rollbacks_folds_and_many_writers(in_threads) -> None:
    depots = ["east", "west"]

    def work(number: int) -> None:
        luck = random.Random(number)
        for _ in range(25):
            depot = luck.choice(depots)
            rows = Parcel.objects.filter(depot=depot)
            with transaction.atomic():
                Parcel.objects.bulk_create(Parcel(depot=depot) for _ in range(luck.randrange(8)))
                taken = rows.claim(limit=luck.randrange(1, 6))
                for parcel in taken[::2]:
                    parcel.deliver()
                if luck.random() < 0.3:
                    transaction.set_rollback(True)
            if number % 4 == 0:
                Count.objects.fold(limit=luck.randrange(1, 50))

    in_threads(work, count=THREADS)

    for depot in depots:
        counted = {}
        for status in Parcel.objects.filter(depot=depot).values_list("status", flat=True):
            counted[status] = counted.get(status, 0) + 1
        assert Count.objects.by_state(queue="parcel", scopes=[depot]) == counted
        while Count.objects.fold():
            pass
        assert Count.objects.by_state(queue="parcel", scopes=[depot]) == counted


def test_a_reader_never_sees_a_fold_halfway(in_threads) -> None:
    Parcel.objects.bulk_create(Parcel() for _ in range(10))
    start, stop = threading.Barrier(4), threading.Event()

    def fold() -> None:
        try:
            for _ in range(60):
                Parcel.objects.move("lose")
                Parcel.objects.move("resend")
                Count.objects.fold()
        finally:
            stop.set()

    def read() -> set:
        seen = set()
        is_over = False
        while not is_over:
            is_over = stop.is_set()
            seen.add(sum(Count.objects.by_state(queue="parcel").values()))
        return seen

    def fold_or_read(number: int) -> set | None:
        Count.objects.by_state(queue="parcel")  # opens the connection, so that no thread starts late
        start.wait(timeout=PATIENCE)
        return read() if number else fold()

    _, *seen = in_threads(fold_or_read, count=4)

    assert seen == [{10}] * 3


@pytest.mark.parametrize("rollup", [Count.objects, ErrorGroup.objects], ids=["counts", "error groups"])
def test_of_two_folds_at_once_the_second_folds_nothing_and_does_not_wait(rollup, in_threads) -> None:
    Parcel.objects.bulk_create(Parcel() for _ in range(2))
    for parcel in Parcel.objects.all():
        parcel.move("lose", error_code="E_LOST", error_message="gone")

    def fold_without_waiting(_: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        return rollup.fold()

    with transaction.atomic():
        assert rollup.fold(limit=1) == 1
        assert in_threads(fold_without_waiting, count=1) == [0]
    assert rollup.fold() > 0
