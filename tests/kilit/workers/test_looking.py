"""Supervisors and runners look when a change is announced, and every few seconds otherwise."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from kilit.workers import notifications
from kilit.workers.notifications import SOON, Listener, Poller, announce, announce_changes
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 10 * PATIENCE  # seconds


def never() -> bool:
    return False


@pytest.fixture(autouse=True)
def _announces(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(notifications._Announcer, "announces", True)
    monkeypatch.setattr(notifications._Announcer, "next_at", 0.0)
    yield
    connection.close()  # it may listen


@pytest.fixture
def meanwhile(monkeypatch) -> Callable[..., None]:
    """Let a poller wait in a thread of its own until something wakes it."""
    monkeypatch.setattr("kilit.workers.notifications.LATER", LONG)

    def run(wake: Callable[[Poller], object], *, stopping: Callable[[], bool] = never) -> None:
        poller, waits = Poller(), threading.Event()

        def wait() -> None:
            try:
                poller.wait(stopping=never)  # the first look is at once
                waits.set()
                poller.wait(stopping=stopping)
            finally:
                connection.close()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert waits.wait(PATIENCE)
        wake(poller)
        thread.join(PATIENCE)
        assert not thread.is_alive()

    return run


def test_an_announcement_ends_the_wait_and_makes_the_next_ones_short(meanwhile) -> None:
    woken = []

    def wake(poller: Poller) -> None:
        assert not poller.is_busy
        woken.append(poller)
        announce()

    meanwhile(wake)

    assert woken[0].is_busy


def test_a_process_that_has_to_stop_does_not_wait_on(meanwhile) -> None:
    stop = threading.Event()

    meanwhile(lambda _: stop.set(), stopping=stop.is_set)


def heard(action: Callable[[], object]) -> set[str]:
    listener = Listener(notifications.CHANNEL)
    listener.listen()
    action()
    return listener.wait(0)


def test_a_process_announces_at_most_once_a_second(django_assert_num_queries, monkeypatch) -> None:
    assert heard(announce) == {""}

    monkeypatch.setattr(notifications._Announcer, "next_at", float("inf"))
    with django_assert_num_queries(0):
        announce()


def test_only_services_announce(monkeypatch) -> None:
    monkeypatch.setattr(notifications._Announcer, "announces", False)
    assert heard(announce) == set()

    announce_changes()
    assert heard(announce) == {""}


def test_nothing_is_announced_inside_a_transaction() -> None:
    """A commit with a notification waits for others of its kind."""

    def announce_inside() -> None:
        with transaction.atomic():
            announce()

    assert heard(announce_inside) == set()


def test_an_announcement_that_fails_affects_nothing() -> None:
    def away(*_: object) -> None:
        raise OperationalError("the connection is closed")

    with connection.execute_wrapper(away):
        announce()


def test_behind_a_pooler_it_looks_every_second(monkeypatch) -> None:
    monkeypatch.setattr(connection, "is_pooled", lambda: True)
    poller = Poller()
    poller.wait(stopping=never)

    assert not poller.is_busy
    assert poller._seconds_left() <= SOON


def test_on_a_new_connection_it_looks_at_once(monkeypatch) -> None:
    monkeypatch.setattr("kilit.workers.notifications.LATER", LONG)
    poller = Poller()
    poller.wait(stopping=never)
    connection.close()

    poller.wait(stopping=never)  # or this test would take an hour

    assert poller._seconds_left() > SOON


def test_a_connection_that_is_lost_meanwhile_is_an_error_of_the_database() -> None:
    listener = Listener(notifications.CHANNEL)
    listener.listen()
    end_session(connection.connection.info.backend_pid)

    with pytest.raises(OperationalError):
        wait_until(lambda: listener.wait(PATIENCE))


def end_session(pid: int) -> None:
    def end() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        connection.close()

    thread = threading.Thread(target=end)
    thread.start()
    thread.join(PATIENCE)


@pytest.fixture
def announced(monkeypatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr("config.web.middleware.announce", lambda: calls.append(1))
    return calls


def test_requests_that_store_something_announce_it(announced, admin_client) -> None:
    admin_client.get("/admin/workers/")
    assert not announced
    admin_client.post("/admin/workers/pdf_cleanup/run/")
    assert announced
