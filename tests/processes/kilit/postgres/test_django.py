"""Django on the private PostgreSQL: lazily started, made once, found again."""

from pathlib import Path

import pytest

from tests.support.postgres import DJANGO, Start, postmaster, wait_until_stopped


def test_commands_that_need_no_database_start_nothing(nowhere: Path, start: Start):
    start(nowhere, code=f"{DJANGO}call_command('check')").leave()

    assert not nowhere.parent.exists()


@pytest.mark.nightly  # by day, test_sharing.py: eight processes make one server
def test_django_makes_its_database_once_for_eight_processes(nowhere: Path, start: Start):
    clients = [start(nowhere, code=f"{DJANGO}print(ask('SELECT current_database()'))") for _ in range(8)]

    assert [client.read() for client in clients] == ["kilit"] * 8


def test_django_makes_and_drops_its_test_database(folder: Path, start: Start):
    client = start(
        folder,
        code=f"""{DJANGO}
connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
print(ask("SELECT current_database()"))
connection.creation.destroy_test_db("kilit", verbosity=0)
connection.close()
print(ask("SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE NOT datistemplate"))
""",
    )

    assert [client.read(), client.read()] == ["test_kilit", "kilit postgres"]


def test_django_reconnects_to_a_server_started_again(folder: Path, start: Start):
    client = start(
        folder,
        code=f"""{DJANGO}
print(ask("SELECT 1"), flush=True)
sys.stdin.readline()
try:
    for _ in range(600):  # until the connection has heard of the server's end
        ask("SELECT 1")
        time.sleep(0.1)
except OperationalError:
    connection.close_if_unusable_or_obsolete()
    print(ask("SELECT 2"), flush=True)
""",
    )
    assert client.read() == "1"

    postmaster(folder).kill()
    wait_until_stopped(folder)

    assert client.ask() == "2"


def test_a_server_that_does_not_start_again_is_an_outage(folder: Path, start: Start):
    client = start(
        folder,
        code=f"""{DJANGO}
print(ask("SELECT 1"), flush=True)
connection.close()
sys.stdin.readline()
try:
    ask("SELECT 2")
except OperationalError as error:
    print(error, flush=True)
""",
    )
    assert client.read() == "1"
    with (folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("\nnonsense = 1\n")

    postmaster(folder).kill()
    wait_until_stopped(folder)

    assert client.ask().startswith(f"The embedded PostgreSQL in {folder}/data did not start: ")
    client.leave()


def test_a_silent_server_is_asked_once_and_within_the_limit(folder: Path, start: Start):
    client = start(
        folder,
        code=f"""{DJANGO}
from psycopg import connection as connections
from psycopg.conninfo import timeout_from_conninfo
print(ask("SELECT 1"), flush=True)
connection.close()
connection.settings_dict["OPTIONS"]["connect_timeout"] = 2
limits = []
connections.timeout_from_conninfo = lambda options: limits.append(timeout_from_conninfo(options)) or 2
sys.stdin.readline()
try:
    ask("SELECT 2")
except OperationalError as error:
    print(limits, error, flush=True)
""",
    )
    assert client.read() == "1"
    server = postmaster(folder)

    server.suspend()
    try:
        answer = client.ask()
    finally:
        server.resume()

    assert answer == "[2] connection timeout expired"
    client.leave()
