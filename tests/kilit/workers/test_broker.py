"""A cluster wakes when a task is stored, and finds it by looking when no notification arrives."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ

from kilit.workers import broker as broker_module
from kilit.workers.broker import Broker, PatientBroker
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

AN_HOUR = timedelta(hours=1)
LONG = 10 * PATIENCE  # seconds that a broker waits here when nothing wakes it


@pytest.fixture(autouse=True)
def _looks_are_rare(monkeypatch) -> None:
    monkeypatch.setattr(broker_module, "LOOK_EVERY", LONG)


@pytest.fixture
def waiting() -> Callable[..., Any]:
    """Let a broker wait for tasks in a thread of its own, as django-q2's pusher does; return what it found."""

    def wait(meanwhile: Callable[[], object], *, key: str = "here") -> list[Any]:
        found: list[Any] = []
        listening = threading.Event()

        class Listening(Broker):
            def _take(self) -> list[tuple[int, str]]:
                found = super()._take()
                listening.set()
                return found

        def pull() -> None:
            broker = Listening(list_key=key)
            try:
                while not found:
                    found.extend(broker.dequeue() or [])
            finally:
                connection.close()

        thread = threading.Thread(target=pull, daemon=True)
        thread.start()
        assert listening.wait(PATIENCE)
        meanwhile()
        thread.join(PATIENCE)
        return [payload for _, payload in found]

    return wait


def test_the_cluster_uses_this_broker() -> None:
    assert type(get_broker()) is PatientBroker


def test_a_stored_task_wakes_the_cluster(waiting) -> None:
    assert waiting(lambda: Broker(list_key="here").enqueue("ring")) == ["ring"]


def test_the_cluster_wakes_when_the_transaction_commits(waiting) -> None:
    def store() -> None:
        with transaction.atomic():
            Broker(list_key="here").enqueue("ring")

    assert waiting(store) == ["ring"]


def test_another_clusters_task_is_not_taken(waiting) -> None:
    def store() -> None:
        Broker(list_key="there").enqueue("not for here")
        Broker(list_key="here").enqueue("ring")

    assert waiting(store) == ["ring"]


def test_a_task_stored_before_is_found_without_a_notification() -> None:
    Broker(list_key="here").enqueue("early")

    assert [payload for _, payload in Broker(list_key="here").dequeue()] == ["early"]


def test_tasks_are_taken_in_the_order_of_storing_and_one_at_a_time() -> None:
    for number in range(3):
        Broker(list_key="here").enqueue(f"ring {number}")
    broker = Broker(list_key="here")

    assert [[payload for _, payload in broker.dequeue()] for _ in range(3)] == [["ring 0"], ["ring 1"], ["ring 2"]]


def test_a_task_is_stored_taken_and_acknowledged_in_three_statements(django_assert_num_queries) -> None:
    broker = Broker(list_key="here")
    assert broker.dequeue() is None  # it listens

    with django_assert_num_queries(3):
        broker.enqueue("ring")
        taken = None
        while not taken:
            taken = broker.dequeue()
        broker.acknowledge(taken[0][0])
        assert broker.dequeue() is None

    assert not OrmQ.objects.exists()


def test_other_clusters_tasks_cost_no_statement(django_assert_num_queries) -> None:
    broker = Broker(list_key="here")
    assert broker.dequeue() is None

    Broker(list_key="there").enqueue("not for here")

    with django_assert_num_queries(0):
        assert broker.dequeue() is None


def test_a_task_whose_worker_died_is_taken_again(monkeypatch) -> None:
    Broker(list_key="here").enqueue("ring")
    broker = Broker(list_key="here")
    assert broker.dequeue()

    OrmQ.objects.update(lock="2020-01-01T00:00Z")  # as if its time had passed
    monkeypatch.setattr(broker, "_next_look", 0.0)

    assert [payload for _, payload in broker.dequeue()] == ["ring"]


def test_behind_a_pooler_a_task_is_found_by_polling(monkeypatch) -> None:
    monkeypatch.setattr(Conf, "POLL", 0.05)
    monkeypatch.setattr(connection, "is_pooled", lambda: True)
    broker = Broker(list_key="here")
    assert broker.dequeue() is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_listening_channels()")
        assert cursor.fetchall() == []

    Broker(list_key="here").enqueue("ring")

    taken = wait_until(broker.dequeue, every=0)
    assert [payload for _, payload in taken] == ["ring"]


def test_it_listens_and_looks_again_on_a_new_connection() -> None:
    broker = Broker(list_key="here")
    assert broker.dequeue() is None
    first = connection.connection
    connection.close()
    Broker(list_key="here").enqueue("missed")
    assert connection.connection is not first

    assert [payload for _, payload in broker.dequeue()] == ["missed"]

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_listening_channels()")
        assert cursor.fetchall() == [("kilit_tasks",)]
    connection.close()


@pytest.mark.parametrize("clock_of_caller", [-AN_HOUR, AN_HOUR])
def test_a_task_of_a_machine_with_another_clock_is_found_at_once(monkeypatch, clock_of_caller) -> None:
    def set_clock(offset: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + offset)

    set_clock(clock_of_caller)
    Broker(list_key="here").enqueue("ring")

    set_clock(-clock_of_caller)
    assert [payload for _, payload in Broker(list_key="here").dequeue()] == ["ring"]
    # Taken, so another process does not find it, whatever its clock says.
    set_clock(clock_of_caller)
    assert not Broker(list_key="here").dequeue()
