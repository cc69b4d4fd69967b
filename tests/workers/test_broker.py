"""A cluster wakes when a task is stored, and finds it by polling when no notification arrives."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf

from kilit.workers.broker import Broker
from kilit.workers.patient_broker import PatientBroker
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

AN_HOUR = timedelta(hours=1)
LONG_POLL = 10 * PATIENCE  # seconds that a broker waits here when nothing wakes it


@pytest.fixture
def waiting(monkeypatch) -> Callable[..., Any]:
    """Let a broker wait for tasks in a thread of its own, as django-q2's pusher does; return what it found."""
    monkeypatch.setattr(Conf, "POLL", LONG_POLL)

    def wait(meanwhile: Callable[[], object], *, key: str = "here") -> list[Any]:
        found: list[Any] = []
        listening = threading.Event()

        class Listening(Broker):
            def _listen(self) -> None:
                super()._listen()
                listening.set()

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


def test_a_task_stored_before_is_found_without_a_notification(monkeypatch) -> None:
    monkeypatch.setattr(Conf, "POLL", LONG_POLL)
    Broker(list_key="here").enqueue("early")

    assert [payload for _, payload in Broker(list_key="here").dequeue()] == ["early"]


def test_without_notifications_a_task_is_found_by_polling(monkeypatch) -> None:
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


@pytest.mark.parametrize("clock_of_caller", [-AN_HOUR, AN_HOUR])
def test_a_task_of_a_machine_with_another_clock_is_found_at_once(monkeypatch, clock_of_caller) -> None:
    def set_clock(offset: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + offset)

    monkeypatch.setattr(Conf, "POLL", 0.05)
    set_clock(clock_of_caller)
    Broker(list_key="here").enqueue("ring")

    set_clock(-clock_of_caller)
    assert [payload for _, payload in Broker(list_key="here").dequeue()] == ["ring"]
    # Taken, so another process does not find it, whatever its clock says.
    set_clock(clock_of_caller)
    assert not Broker(list_key="here").dequeue()
