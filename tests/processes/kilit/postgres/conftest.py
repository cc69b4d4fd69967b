"""Real processes that share a private PostgreSQL, in folders of their own."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kilit.postgres.place import home_of
from kilit.postgres.server import Server
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
def folder(make_folder: MakeFolder) -> Path:
    """Return a path, not yet created, in a folder that every user can enter."""
    return make_folder()


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
