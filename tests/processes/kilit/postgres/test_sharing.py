"""The private PostgreSQL: made once, shared, and stopped by the last one out, whatever is killed."""

import os
import shutil
from pathlib import Path

import psutil
import pytest

from kilit.postgres.place import OPEN_PLACE, home_of
from kilit.postgres.server import LOG, PID_FILE, SOCKET_LOCK, Server
from tests.support.postgres import (
    OTHER_USER,
    STARTED_AT,
    MakeFolder,
    Start,
    as_others,
    as_root,
    postmaster,
    wait_until_stopped,
)
from tests.support.waiting import PATIENCE, wait_until

MODES = [
    (0o755, 0o022),
    pytest.param(0o755, 0o077, marks=pytest.mark.nightly),
    pytest.param(0o700, 0o077, marks=as_root),
]


def test_the_first_connection_makes_a_server_without_network_that_knows_turkish(nowhere: Path, start: Start):
    client = start(nowhere)

    assert client.ask("SHOW listen_addresses") == ""
    assert client.ask("SHOW TimeZone") == "UTC"
    assert client.ask("SHOW fsync") == "on"
    assert client.ask("SELECT current_user") == "kilit"
    assert client.ask("SELECT upper('çığöşü') || lower('ÇĞÖŞÜİ')") == "ÇIĞÖŞÜçğöşüi"
    assert client.ask("SELECT string_agg(x, '' ORDER BY x) FROM unnest('{z,ş,c,ç,a}'::text[]) x") == "aczçş"


def test_asking_whether_it_runs_makes_nothing(nowhere: Path):
    assert not Server(nowhere).is_running()
    assert not Server(nowhere).stop()

    assert not nowhere.parent.exists()


@pytest.mark.parametrize(("mode", "umask"), MODES)
@pytest.mark.by_day(1)
def test_eight_processes_at_once_make_one_server(make_folder: MakeFolder, start: Start, mode: int, umask: int):
    folder = make_folder(mode=mode)
    folder.parent.mkdir()
    clients = [start(folder, code=f"os.umask({umask}); answer()") for _ in range(8)]
    for client in clients:
        print(STARTED_AT, file=client.process.stdin, flush=True)

    assert len({client.read() for client in clients}) == 1
    home = home_of(folder)
    assert (home / "data" / LOG).read_text().count("ready to accept connections") == 1
    assert {each.name for each in home.iterdir()} == {"data", "starting.lock", "using.lock"}
    assert home.is_relative_to(OPEN_PLACE if mode == 0o700 else folder)


@pytest.mark.parametrize("killed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_killed_process_leaves_the_server_to_the_others(folder: Path, start: Start, killed: int):
    clients = [start(folder), start(folder)]
    started_at = {client.ask(STARTED_AT) for client in clients}

    clients.pop(killed).kill()

    assert {clients[0].ask(STARTED_AT), start(folder).ask(STARTED_AT)} == started_at


def test_the_last_process_out_stops_the_server(folder: Path, start: Start):
    first, second = start(folder), start(folder)
    assert first.ask(STARTED_AT) == second.ask(STARTED_AT)

    first.leave()
    assert second.ask() == "1"
    second.leave()

    assert not Server(folder).is_running()


@pytest.mark.nightly  # by day, a killed process and the last one out, each alone
def test_a_server_that_only_killed_processes_used_is_stopped_by_the_next_one_out(folder: Path, start: Start):
    killed = start(folder)
    killed.ask()
    killed.kill()
    assert Server(folder).is_running()

    start(folder, code="ask('SELECT 1')").leave()

    assert not Server(folder).is_running()


@pytest.mark.nightly  # by day, workers are forked, and stop (tests/processes/kilit/workers)
def test_a_parent_that_ends_leaves_the_server_to_its_forked_child(folder: Path, start: Start):
    client = start(
        folder,
        code="""
ask("SELECT 1")
reader, writer = os.pipe()
if os.fork():
    os.read(reader, 1)
    sys.exit()
print(ask("SELECT pg_postmaster_start_time()"), flush=True)
os.write(writer, b"!")
answer()
""",
    )
    started_at = client.read()
    client.process.wait(timeout=PATIENCE)

    assert client.ask(STARTED_AT) == started_at
    client.leave()
    assert not Server(folder).is_running()


@pytest.mark.nightly
def test_a_multiprocessing_child_can_be_the_last_one_out(folder: Path, start: Start):
    client = start(
        folder,
        code="""
reader, writer = os.pipe()
def work():
    os.close(writer)
    print(ask("SELECT 1"), flush=True)
    os.read(reader, 1)  # which returns when the parent is gone
ask("SELECT 1")
multiprocessing.get_context("fork").Process(target=work).start()
""",
    )
    assert client.read() == "1"

    client.process.kill()

    wait_until_stopped(folder)


@pytest.mark.nightly  # it makes two servers
def test_a_process_does_not_stop_the_server_that_took_the_place_of_its_own(folder: Path, start: Start):
    old = start(folder)
    old.ask()
    Server(folder).stop()
    shutil.rmtree(folder)
    new = start(folder)
    started_at = new.ask(STARTED_AT)

    old.leave()

    assert new.ask(STARTED_AT) == started_at


def test_a_killed_server_is_started_again(folder: Path, start: Start):
    client = start(folder)
    started_at = client.ask(STARTED_AT)

    postmaster(folder).kill()
    wait_until_stopped(folder)

    assert client.ask(STARTED_AT) != started_at


def test_what_a_killed_server_leaves_at_work_is_waited_for(folder: Path, start: Start):
    client = start(folder, code=f"servers.ORPHAN_TIMEOUT_SECONDS = {PATIENCE}; answer()")
    client.ask()
    # Many minutes of work without a look at the server: it ends when the test says so.
    start(
        folder,
        code="refuse(lambda: ask('SELECT count(*) FROM generate_series(1, 99999) a, generate_series(1, 99999) b'))",
    )
    is_busy = "SELECT max(pid) FROM pg_stat_activity WHERE query LIKE '%generate%' AND pid != pg_backend_pid()"
    busy = psutil.Process(int(wait_until(lambda: client.ask(is_busy).removeprefix("None"))))
    try:
        postmaster(folder).kill()
        wait_until_stopped(folder)
        print("SELECT 1", file=client.process.stdin, flush=True)
        wait_until(lambda: not (folder / "data" / SOCKET_LOCK).exists())  # the old server's things are put away
        # One that would not wait is refused by PostgreSQL about now.
        assert not client.has_printed(within=1)
    finally:
        busy.kill()

    assert client.read() == "1"


@pytest.mark.parametrize("user", ["", pytest.param(OTHER_USER, marks=[as_others, pytest.mark.nightly])])
@pytest.mark.by_day(1)
def test_a_stale_pid_of_another_process_is_recognised(make_folder: MakeFolder, start: Start, user: str):
    folder = make_folder(owner=user or None)
    client = start(folder, user=user)
    client.ask()
    pid_file = home_of(folder) / "data" / PID_FILE
    lines, owner = pid_file.read_text().splitlines(keepends=True), pid_file.stat()
    Server(folder).stop()
    # The process belongs to the same user, so PostgreSQL alone would refuse to start.
    innocent = start(make_folder(), user=user, code="print(os.getpid(), flush=True); sys.stdin.read()")
    pid_file.write_text("".join([f"{innocent.read()}\n", *lines[1:]]))
    os.chown(pid_file, owner.st_uid, owner.st_gid)

    assert not Server(folder).is_running()
    assert not Server(folder).stop()
    assert client.ask() == "1"
    assert innocent.process.poll() is None
