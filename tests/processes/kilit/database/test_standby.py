"""A synchronous standby that is gone: commits wait in the server, requests do not, and all of it is reported."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test import RequestFactory

from kilit.api import probes
from kilit.database import limits
from kilit.database.outage import standby_outage
from kilit.lock.outages import CommitsWaitError, CommitUnknown
from kilit.postgres import server as postgres
from kilit.postgres.place import home_of
from tests.support.faulty_network import connected_to
from tests.support.waiting import wait_until

LIMIT = 3.0  # seconds; longer than a healthy standby may take

Administrator = Callable[..., Any]


@pytest.fixture
def administrator(django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Administrator]:
    """Provide a PostgreSQL of our own, this thread's connection to it, and another one for its administrator."""
    # Not pytest's tmp_path: root's is closed to the user that runs PostgreSQL.
    room = Path(tempfile.mkdtemp(prefix="kilit-standby-", dir="/tmp"))
    room.chmod(0o755)
    # The servers of other tests feed no standby.
    replicated = tuple(option for option in postgres.INITDB if "wal" not in option)
    monkeypatch.setattr(postgres, "INITDB", replicated)
    server = postgres.Server(room / "postgres")
    address = server.ensure_running()
    place = {"HOST": address["host"], "PORT": str(address["port"]), "USER": address["user"], "NAME": "postgres"}
    with (
        django_db_blocker.unblock(),
        psycopg.connect(**address, dbname="postgres", autocommit=True) as own,
        connected_to(**place),
    ):
        yield own.execute
    server.stop()
    shutil.rmtree(home_of(room / "postgres"), ignore_errors=True)
    shutil.rmtree(room, ignore_errors=True)


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    limits.limit_statements(LIMIT)
    yield
    limits.limit_statements(None)
    standby_outage.end()


def store(number: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO note VALUES (%s)", [number])


def test_commits_without_a_standby_end_and_later_ones_are_not_begun(
    administrator: Administrator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_known_migrated", False)

    def stored() -> list[int]:
        return [number for (number,) in administrator("SELECT number FROM note ORDER BY 1").fetchall()]

    def waiting() -> int:
        return int(administrator("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").fetchone()[0])

    administrator("CREATE TABLE note (number int)")
    administrator("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
    administrator("SELECT pg_reload_conf()")
    wait_until(lambda: administrator("SHOW synchronous_standby_names").fetchone() == ("gone",))

    with pytest.raises(CommitUnknown):
        store(1)
    # The standby is still gone: it was our limit that ended the wait. The server's own goes on, since to cancel it
    # would show others what a failover loses.
    assert (stored(), waiting()) == ([], 1)
    connection.close()  # as Django does after a request with an error

    with pytest.raises(CommitsWaitError):  # nothing was changed, for certain
        store(2)
    with pytest.raises(CommitsWaitError), connection.cursor() as cursor:
        cursor.execute("INSERT INTO note VALUES (3)")
    assert waiting() == 1
    checks = json.loads(probes.readyz(RequestFactory().get("/readyz")).content)["checks"]
    assert checks["database"] == "commits are waiting for a synchronous standby"

    administrator("ALTER SYSTEM RESET synchronous_standby_names")
    administrator("SELECT pg_reload_conf()")
    wait_until(lambda: waiting() == 0)
    store(4)
    assert stored() == [1, 4]
    begin, end = [record.getMessage() for record in caplog.records if record.name == "kilit.database.outage"]
    assert begin == "commits are waiting for a synchronous standby (1 so far)"
    assert end.startswith("commits are confirmed by a standby again")
