"""What keeps PostgreSQL from cleaning up is named: to those who run the installation, and in /metrics."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.utils import translation

from kilit.database.sql import execute
from kilit.problems import horizon
from kilit.problems.horizon import Holder, HolderKind
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, SeesEverything
from tests.support.people import make_user

pytestmark = pytest.mark.django_db

Connect = Callable[[], "psycopg.Connection[Any]"]
NAMES = ("host", "port", "user", "password", "dbname")


@pytest.fixture
def connect(monkeypatch) -> Iterator[Connect]:
    """Other connections to the database, whose transactions count as long."""
    monkeypatch.setattr(horizon, "LONG", timedelta(0))
    address = {name: value for name, value in connection.get_connection_params().items() if name in NAMES and value}
    with ExitStack() as stack:
        yield lambda: stack.enter_context(psycopg.connect(**address, application_name="monthly report"))


def problems() -> list[Problem]:
    execute("SELECT pg_stat_clear_snapshot()")  # in a transaction, the sessions are read once
    return list(horizon.find(SeesEverything()))


def hold_snapshot(other: "psycopg.Connection[Any]") -> int:
    other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT 1")
    return other.info.backend_pid


def test_a_snapshot_that_is_held_is_named_with_what_ends_it(connect: Connect) -> None:
    other = connect()
    assert problems() == []
    process = hold_snapshot(other)

    (problem,) = problems()

    assert problem.kind == ProblemKind.OPEN_TRANSACTION
    assert problem.title == "A transaction has been open for less than a minute"
    user = other.info.user
    assert problem.cause == f"monthly report, process {process} of the user {user}: it waits, and does nothing"
    assert problem.advice.endswith(f"SELECT pg_terminate_backend({process})")
    assert problem.since is not None
    other.rollback()
    assert problems() == []


def test_it_is_named_in_turkish_too(connect: Connect) -> None:
    hold_snapshot(connect())

    with translation.override("tr"):
        (problem,) = problems()

    assert problem.title == "Bir veritabanı işlemi açık kaldı (süre: bir dakikadan az)"
    assert "bütün kuyruklar yavaşlıyor" in problem.advice


def test_a_transaction_that_holds_nothing_back_is_no_problem(connect: Connect) -> None:
    connect().execute("SELECT 1")  # READ COMMITTED, between two statements

    assert problems() == []


def test_a_transaction_is_no_problem_before_its_hour(connect: Connect, monkeypatch) -> None:
    monkeypatch.setattr(horizon, "LONG", timedelta(hours=1))
    hold_snapshot(connect())

    assert problems() == []


def test_a_prepared_transaction_is_named_with_what_ends_it() -> None:
    holder = Holder(HolderKind.PREPARED, "order's", "", "kilit", None, horizon.MANY + 1)

    problem = horizon.problem(holder)

    assert problem.title == "PostgreSQL has cleaned up nothing for 100,001 transactions"
    assert problem.cause.startswith("prepared transaction order's of the user kilit")
    assert problem.advice.endswith("ROLLBACK PREPARED 'order''s'")


def test_a_slot_is_named_with_what_ends_it() -> None:
    problem = horizon.problem(Holder(HolderKind.SLOT, "standby", "", "", None, horizon.MANY + 1))

    assert problem.cause.startswith("replication slot standby")
    assert problem.advice.endswith("SELECT pg_drop_replication_slot('standby')")


def test_what_a_role_may_not_see_is_judged_by_later_transactions(connect: Connect, monkeypatch) -> None:
    process = hold_snapshot(connect())
    monkeypatch.setattr(horizon, "MANY", -1)
    execute("CREATE ROLE kilit_without_monitor")
    execute("SET LOCAL ROLE kilit_without_monitor")

    (problem,) = problems()

    assert problem.title.startswith("PostgreSQL has cleaned up nothing for ")
    assert (problem.name, problem.since) == (str(process), None)
    assert problem.cause.endswith("Kilit may not see what it does")
    assert "GRANT pg_monitor" in problem.advice


def test_who_does_not_run_the_installation_sees_nothing(connect: Connect) -> None:
    hold_snapshot(connect())

    assert list(horizon.find(AnonymousUser())) == []
    assert list(horizon.find(make_user("admin", role="admin"))) == []
    assert list(horizon.find(make_user("owner", role="owner")))


def test_metrics_have_the_age_of_the_oldest_transaction(connect: Connect, client) -> None:
    def metrics() -> dict[str, float]:
        execute("SELECT pg_stat_clear_snapshot()")
        lines = client.get("/metrics").text.splitlines()
        return {
            name: float(value)
            for name, value in (line.split() for line in lines if "oldest_transaction" in line and line[0] != "#")
        }

    assert metrics() == {"kilit_oldest_transaction_seconds": 0.0, "kilit_oldest_transaction_lag": 0.0}
    hold_snapshot(connect())

    assert metrics()["kilit_oldest_transaction_seconds"] > 0
