"""Doorbells coalesce, ring on commit, and cost nothing when they are lost."""

from datetime import date, timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django_q.models import OrmQ

from kilit.lock.outages import ReadOnlyDatabase
from kilit.workers import doorbells
from kilit.workers.due_rows import exists_query
from kilit.workers.models import Bell, Heartbeat
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _a_cluster_is_alive(transactional_db: None, monkeypatch) -> None:
    """However long a test takes, a cluster is alive and no ring expires."""
    Heartbeat.objects.create(name="here", alive_at=Now() + timedelta(hours=1))
    monkeypatch.setattr(doorbells, "RING_AGAIN_AFTER", timedelta(hours=1))


def test_with_no_cluster_alive_nothing_rings_and_looking_finds_the_row() -> None:
    Heartbeat.objects.all().delete()
    Parcel.objects.create()

    assert not doorbells.ring_now("parcels")
    assert doorbells.ring_due(at="new") == ["parcels"]
    assert OrmQ.objects.get().key == "new"


def test_a_bell_rings_at_a_cluster_that_is_alive() -> None:
    Heartbeat.objects.create(name="dead", alive_at="2020-01-01T00:00Z")
    Heartbeat.objects.create(name="silent", alive_at=None)

    doorbells.ring_now("parcels")

    assert OrmQ.objects.get().key == "here"


def test_a_thousand_rings_make_one_task() -> None:
    with transaction.atomic():
        for _ in range(1000):
            doorbells.ring("parcels")

    assert OrmQ.objects.count() == 1


def test_a_ring_costs_two_statements_and_another_one(django_assert_num_queries) -> None:
    with django_assert_num_queries(2):
        assert doorbells.ring_now("parcels")
    with django_assert_num_queries(1):
        assert not doorbells.ring_now("parcels")


def test_concurrent_rings_make_one_task(in_threads) -> None:
    in_threads(lambda _: [doorbells.ring_now("parcels") for _ in range(20)], count=8)

    assert OrmQ.objects.count() == 1


def test_of_two_callers_that_saw_a_silent_bell_one_stores_a_task() -> None:
    callers = [doorbells.RingingBroker("here", "parcels") for _ in range(2)]

    for caller in callers:
        caller.enqueue("ring")

    assert [caller.rang for caller in callers] == [True, False]
    assert OrmQ.objects.count() == 1


def test_nothing_rings_when_the_transaction_is_rolled_back() -> None:
    with transaction.atomic():
        doorbells.ring("parcels")
        transaction.set_rollback(True)

    assert OrmQ.objects.count() == 0


def test_an_answered_bell_rings_again() -> None:
    doorbells.ring_now("parcels")

    doorbells.handle("parcels")

    assert doorbells.ring_now("parcels")
    assert OrmQ.objects.count() == 2


def test_a_bell_that_was_not_answered_rings_again_after_a_while() -> None:
    doorbells.ring_now("parcels")
    OrmQ.objects.all().delete()
    assert not doorbells.ring_now("parcels")

    Bell.objects.update(rung_at="2020-01-01T00:00Z")

    assert doorbells.ring_now("parcels")


def test_a_row_that_lost_its_bell_is_found_by_looking() -> None:
    assert doorbells.ring_due(at="here") == []
    Parcel.objects.create()

    assert doorbells.ring_due(at="here") == ["parcels"]
    assert doorbells.ring_due(at="here") == []


def test_a_broken_bell_does_not_affect_what_was_committed(monkeypatch) -> None:
    monkeypatch.setattr(doorbells, "RING", "SELECT nonsense FROM nowhere")

    with transaction.atomic():
        Parcel.objects.create()
        doorbells.ring("parcels")

    assert Parcel.objects.exists()


def test_answering_works_the_due_rows() -> None:
    Parcel.objects.bulk_create(Parcel() for _ in range(3))

    doorbells.handle("parcels")

    assert set(Parcel.objects.values_list("status", flat=True)) == {"DELIVERED"}


def test_all_queues_are_asked_in_one_statement(django_assert_num_queries) -> None:
    look = exists_query(doorbells.conditions())

    with django_assert_num_queries(1):
        assert look.run() == set()

    Parcel.objects.create()
    assert look.run() == {"parcels"}


def test_the_time_in_the_statement_is_the_databases() -> None:
    """Supervisors keep the statement, so a time of their own in it would soon be an old one."""
    assert not [param for param in exists_query(doorbells.conditions()).params if isinstance(param, date)]


def ask_read_only(bell: doorbells.Doorbell) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        return bell.is_due()


@pytest.mark.parametrize("name", sorted(doorbells.doorbells))
def test_asking_whether_a_row_is_due_writes_nothing(name: str) -> None:
    Parcel.objects.create()

    assert ask_read_only(doorbells.doorbells[name]) == (name == "parcels")


def test_a_question_that_writes_is_found_out() -> None:
    def recover() -> list[object]:
        Parcel.objects.recover()
        return []

    writes = doorbells.Doorbell("writes", due=recover, handler=lambda: None)

    with pytest.raises(ReadOnlyDatabase, match="read-only"):
        ask_read_only(writes)
