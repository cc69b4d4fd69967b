"""A cluster wakes when a task is stored, and finds it by the clock when nothing told it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django_q.brokers import get_broker
from django_q.conf import Conf

from kilit.workers.broker import Broker
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

BY_THE_CLOCK = 10 * PATIENCE  # seconds that a broker waits here when nobody wakes it


@pytest.fixture
def waiting(monkeypatch) -> Callable[..., Any]:
    """Let a broker wait for tasks in a thread of its own, as django-q2's pusher does; return what it found."""
    monkeypatch.setattr(Conf, "POLL", BY_THE_CLOCK)

    def wait(meanwhile: Callable[[], object], *, key: str = "here") -> list[Any]:
        found: list[Any] = []
        listening = threading.Event()

        class Heard(Broker):
            def _listen(self) -> None:
                super()._listen()
                listening.set()

        def pull() -> None:
            broker = Heard(list_key=key)
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


def test_the_cluster_uses_it() -> None:
    assert type(get_broker()) is Broker


def test_a_stored_task_wakes_who_waits(waiting) -> None:
    assert waiting(lambda: Broker(list_key="here").enqueue("ring")) == ["ring"]


def test_it_wakes_when_the_transaction_commits(waiting) -> None:
    def store() -> None:
        with transaction.atomic():
            Broker(list_key="here").enqueue("ring")

    assert waiting(store) == ["ring"]


def test_another_clusters_task_wakes_nobody_for_good(waiting) -> None:
    def store() -> None:
        Broker(list_key="there").enqueue("not for here")
        Broker(list_key="here").enqueue("ring")

    assert waiting(store) == ["ring"]


def test_a_task_stored_before_is_found_without_being_told(monkeypatch) -> None:
    monkeypatch.setattr(Conf, "POLL", BY_THE_CLOCK)
    Broker(list_key="here").enqueue("early")

    assert [payload for _, payload in Broker(list_key="here").dequeue()] == ["early"]


def test_without_notifications_it_is_found_by_the_clock(monkeypatch) -> None:
    monkeypatch.setattr(Conf, "POLL", 0.05)
    monkeypatch.setattr(Broker, "_listen", lambda self: self.get_connection())  # a pooler that passes none on
    broker = Broker(list_key="here")

    assert broker.dequeue() is None
    Broker(list_key="here").enqueue("ring")
    assert [payload for _, payload in broker.dequeue()] == ["ring"]


def test_it_listens_again_on_a_new_connection() -> None:
    broker = Broker(list_key="here")
    broker._listen()
    first = connection.connection
    connection.close()

    broker._listen()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_listening_channels()")
        assert cursor.fetchall() == [("kilit_tasks",)]
    assert connection.connection is not first
    connection.close()
