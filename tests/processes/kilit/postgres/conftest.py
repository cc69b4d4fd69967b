"""Real processes that share a private PostgreSQL, in folders of their own."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kilit.postgres.account import account_for
from kilit.postgres.binaries import binaries_for
from kilit.postgres.place import DATA, home_of, make_home
from kilit.postgres.server import Server, _make_data
from tests.support.postgres import Client, MakeFolder, Start


@pytest.fixture
def make_folder() -> Iterator[MakeFolder]:
    """Name folders for servers, and remove all that came of them."""
    rooms: list[Path] = []

    def make(*, mode: int = 0o755, owner: str | None = None, name: str = "postgres") -> Path:
        # Not pytest's tmp_path: root's is closed to the user that runs PostgreSQL.
        room = Path(tempfile.mkdtemp(prefix="kilit-test-", dir="/tmp"))
        rooms.append(room)
        if owner:
            shutil.chown(room, owner)
        room.chmod(mode)
        return room / "var" / name

    yield make
    for room in rooms:
        for folder in room.glob("var/*"):
            Server(folder).stop()
            if (home := home_of(folder)) != folder:
                shutil.rmtree(home)
        shutil.rmtree(room)
    # OPEN_PLACE itself stays: a neighbour's installation may be about to move in.


@pytest.fixture
def nowhere(make_folder: MakeFolder) -> Path:
    """Return a path, not yet created, in a folder that every user can enter."""
    return make_folder()


@pytest.fixture(scope="session")
def new_data() -> Iterator[Path]:
    """Make data once for the tests of what comes later: to make them takes a second, to copy them a tenth of it."""
    home = Path(tempfile.mkdtemp(prefix="kilit-test-", dir="/tmp"))
    home.chmod(0o755)
    account = account_for(home)
    _make_data(home, account=account, binaries=binaries_for(account))
    with (home / DATA / "postgresql.conf").open("a") as configuration:
        configuration.write("shared_buffers = 16MB\n")  # the rest would take a while to map at each start
    yield home / DATA
    shutil.rmtree(home)


@pytest.fixture
def folder(nowhere: Path, new_data: Path) -> Path:
    """Return a folder as the first connection leaves it, but for a server."""
    subprocess.run(["cp", "--archive", new_data, make_home(nowhere)], check=True)  # with its owner
    return nowhere


@pytest.fixture
def start(make_folder: MakeFolder) -> Iterator[Start]:
    """Start processes, and end those that are left before their folders go."""
    clients: list[Client] = []

    def start_one(*arguments: Path, **options: str) -> Client:
        clients.append(Client(*arguments, **options))
        return clients[-1]

    yield start_one
    for client in clients:
        client.leave()
