"""A database that does not answer: how long a process waits, and what it does meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.core.signals import request_started
from django.db import OperationalError, connection, transaction

from kilit.database import limits, outage
from kilit.lock.outages import CommitUnknown
from kilit.postgres.external import connection as limited
from tests.apps.parcels.models import Parcel
from tests.support.faulty_network import FaultyNetwork, connected_through, faulty_network
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]  # it waits for answers that never come

THREADS = 4
LIMIT = 1.0  # seconds: many times what a busy machine needs for a statement
SOON = LIMIT + 3 * LIMIT + 20  # the statement, then the look why it was not answered; and a busy machine
TRIES = 100  # were each of them to wait, they would take much longer than that


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wait less long than a web process does."""
    monkeypatch.setattr(limited, "CHECK_SECONDS", LIMIT)
    monkeypatch.setattr(limited, "CANCEL_SECONDS", LIMIT)
    # Psycopg's least is 2 s.
    monkeypatch.setattr(
        psycopg.connection, "timeout_from_conninfo", lambda _: PATIENCE if limits.remaining() is None else LIMIT
    )
    monkeypatch.setattr(outage, "PAUSE", LIMIT)
    monkeypatch.setattr(limits._request, "spent", None)
    limits.limit_requests(LIMIT, threads=THREADS)
    yield
    limits.limit_statements(None)
    connection.close()
    request_started.disconnect(dispatch_uid="kilit.database.limits")
    for each in (outage.database_outage, outage.standby_outage):
        each.end()


@pytest.fixture
def network() -> Iterator[FaultyNetwork]:
    with faulty_network() as network, connected_through(network.port):
        limits.limit_statements(None)
        Parcel.objects.exists()  # connected, as a web process is
        limits.limit_statements(LIMIT)
        yield network


def start_request() -> None:
    """Do what Django does at the beginning of a request."""
    request_started.send(sender=None, environ={})


def idle_limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize("swallowed", ["requests", "answers"])
@pytest.mark.by_day(1)
def test_a_statement_without_an_answer_fails_soon(network: FaultyNetwork, swallowed: str) -> None:
    network.swallow(swallowed)
    start = time.monotonic()

    with pytest.raises(OperationalError, match="did not answer"):
        Parcel.objects.exists()

    assert time.monotonic() - start < SOON


def test_the_last_threads_do_not_wait_while_all_others_do(network: FaultyNetwork) -> None:
    """So one is always free for /healthz."""
    network.swallow()
    limits.limit_statements(PATIENCE)
    ends = threading.Event()

    def wait() -> None:
        with limits.waiting():
            ends.wait()

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(THREADS - limits.SPARE_THREADS):
            pool.submit(wait)
        start = time.monotonic()
        try:
            with pytest.raises(OperationalError):
                Parcel.objects.exists()
        finally:
            ends.set()

    assert time.monotonic() - start < SOON


def test_the_outcome_of_a_commit_without_an_answer_is_unknown(network: FaultyNetwork) -> None:
    with pytest.raises(CommitUnknown), transaction.atomic():  # noqa: PT012 - the end of the transaction raises
        Parcel.objects.create(depot="east")
        network.swallow("answers")


def test_an_answer_that_is_slow_but_in_time_counts(network: FaultyNetwork) -> None:
    network.delay = LIMIT / 10

    assert not Parcel.objects.exists()


def test_a_request_fails_soon_however_often_it_tries(network: FaultyNetwork) -> None:
    """Its connection of an earlier request does not answer, nor do the two hosts that it connects to instead."""
    with faulty_network() as other, connected_through(network.port, other.port):
        Parcel.objects.exists()
        network.swallow()
        other.swallow()
        start_request()
        start = time.monotonic()

        for _ in range(TRIES):
            with pytest.raises(OperationalError):
                Parcel.objects.exists()

    assert time.monotonic() - start < SOON + 2 * LIMIT < TRIES * LIMIT / 2


def test_while_one_caller_tries_the_others_fail_at_once(network: FaultyNetwork) -> None:
    network.swallow()
    with pytest.raises(OperationalError):
        Parcel.objects.exists()
    before = network.accepted
    start_request()

    with pytest.raises(OperationalError, match="a moment ago"):
        Parcel.objects.exists()

    assert network.accepted == before


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    network: FaultyNetwork, caplog: pytest.LogCaptureFixture
) -> None:
    network.swallow()
    for _ in range(3):
        start_request()
        with pytest.raises(OperationalError):
            Parcel.objects.exists()
    network.heal()

    wait_until(answers)

    assert [record.getMessage().split(":")[0].split(",")[0] for record in caplog.records] == [
        "waiting for the database",
        "the database answers again",
    ]


def answers() -> bool:
    start_request()
    try:
        return not Parcel.objects.exists()
    except OperationalError:
        return False


def test_a_statement_that_takes_too_long_is_cancelled_on_the_server(sql: Callable[..., list[tuple[Any, ...]]]) -> None:
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_sleep({10 * PATIENCE}) /* cancel me */")

    assert not outage.database_outage.is_on
    connection.close()
    running = "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s AND state = 'active'"
    wait_until(lambda: not sql(running, "SELECT pg_sleep(%) /* cancel me%"))


def test_each_statement_of_a_worker_has_the_whole_limit(network: FaultyNetwork) -> None:
    limits.spend(LIMIT)

    assert limits.remaining() == LIMIT
    start_request()
    limits.spend(LIMIT / 2)
    assert limits.remaining() == LIMIT / 2


def test_a_command_has_no_limit() -> None:
    limits.limit_statements(None)

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [LIMIT * 1.5])


def test_a_wait_for_notifications_may_last_longer_than_a_statement() -> None:
    connection.ensure_connection()

    assert list(connection.connection.notifies(timeout=LIMIT * 1.5)) == []


def test_a_transaction_may_be_idle_for_a_minute_only_and_sessions_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = idle_limit()
    monkeypatch.setattr(connection.connection, "idle_seconds", 60)

    with transaction.atomic():
        inside = idle_limit()

    assert (before, inside, idle_limit()) == ("0", "1min", "0")


def test_the_startup_message_has_nothing_that_a_pooler_refuses() -> None:
    """PgBouncer passes on these parameters and refuses others; it also does not keep prepared statements."""
    params = connection.get_connection_params()

    assert not {"options", "server_settings"} & set(params)
    assert params["prepare_threshold"] is None
