"""Starts, shares and stops the embedded PostgreSQL of an installation."""

import fcntl
import functools
import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TypedDict

import psutil
from django.core.exceptions import ImproperlyConfigured

from kilit.memory import machine_memory
from kilit.postgres.account import Account, CommandResult, account_for
from kilit.postgres.binaries import MAJOR_VERSION, binaries_for
from kilit.postgres.place import DATA, STARTING_LOCK, USING_LOCK, drop_socket_folder, home_of, make_home, socket_folder

PID_FILE = "postmaster.pid"
SOCKET_LOCK = ".s.PGSQL.5432.lock"
# Larger than any process id.
NO_PID = str(2**31 - 1)
# Recovery after a crash and a clean shutdown may take long; pg_ctl gets the same.
TIMEOUT_SECONDS = 120
ORPHAN_TIMEOUT_SECONDS = 10
_held: dict[Path, int] = {}
_guard = threading.Lock()
SUPERUSER = "kilit"
PORT = 5432
LOG = "postgres.log"
LOG_ROTATES_AT_BYTES = 5_000_000
DRAFT = "draft-"
LEAST_BUFFERS, MOST_BUFFERS = 128, 1024  # MB; each GB takes 17 MB for its own administration, even while it is empty

INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    # Case conversion for every alphabet, the same on every machine, whatever locales it has.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    # Anyone who can reach the socket is trusted; only its owner can.
    "--auth-local=trust",
    "--auth-host=reject",
    # Defaults; operators may change them in postgresql.conf.
    "--set=max_connections=200",
    # For solid-state disks: otherwise deep pages of a list would be read by a full table scan.
    "--set=random_page_cost=1.1",
    # Fewer checkpoints: after each one, the first change of a page writes the whole page to the log.
    "--set=max_wal_size=2GB",
    "--set=checkpoint_timeout=15min",
    "--set=timezone=UTC",
    "--set=log_timezone=UTC",
    # A short log without personal data: Django's statements contain values.
    "--set=log_checkpoints=off",
    "--set=log_autovacuum_min_duration=-1",
    "--set=log_error_verbosity=terse",
    "--set=log_min_error_statement=panic",
)
# Given when it starts, because the data may have been made on a larger machine.
SMALL = ("-c", "shared_buffers=64MB", "-c", "max_connections=60", "-c", "maintenance_work_mem=32MB")


@dataclass(frozen=True, kw_only=True)
class Postmaster:
    pid: int
    port: int
    socket_folder: Path
    status: str


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the server that runs on this data, or None if there is no pid file or it is stale."""
    try:
        lines = os.fsdecode(read_plain_file(data / PID_FILE)).splitlines()
        process = psutil.Process(int(lines[0]))
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None
    # After a crash the pid may belong to any process, even to a zombie.
    if not _serves(process, data):
        return None
    match lines:
        case [_, _, _, port, socket_folder, _, _, status, *_]:
            return Postmaster(pid=process.pid, port=int(port), socket_folder=Path(socket_folder), status=status.strip())
        case _:
            return Postmaster(pid=process.pid, port=0, socket_folder=data, status="starting")


def wait_for_postmaster(data: Path) -> Postmaster | None:
    """Return the server once it is ready, or None once it is gone."""
    # The process that was starting or stopping it may have been killed; the server continues without it.
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (postmaster := find_postmaster(data)) and postmaster.status != "ready":
        if time.monotonic() > deadline:
            raise ImproperlyConfigured(
                f"The PostgreSQL in {data} (process {postmaster.pid}) has been {postmaster.status} for "
                f"{TIMEOUT_SECONDS} seconds: check its log, or set DATABASE_URL."
            )
        time.sleep(0.05)
    return postmaster


def read_plain_file(path: Path) -> bytes:
    """Read a file of the server without following links: its user could link to a file of root."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def retire_stale_files(data: Path, *, account: Account) -> None:
    """Keep PostgreSQL from mistaking a process that got a dead server's pid for that server."""
    (data / SOCKET_LOCK).unlink(missing_ok=True)
    try:
        lines = read_plain_file(data / PID_FILE).splitlines(keepends=True)
    except FileNotFoundError:
        return
    # Idle children end with the server, busy ones when they are done.
    deadline = time.monotonic() + ORPHAN_TIMEOUT_SECONDS
    while any(_serves(process, data) for process in psutil.process_iter()) and time.monotonic() < deadline:
        time.sleep(0.05)
    # Only the pid is removed: the file also names the shared memory, by which PostgreSQL detects children of the
    # dead server that are still running, and refuses to start. Not kilit.files: the file must belong to the
    # server's user before it has content.
    descriptor, draft = tempfile.mkstemp(prefix=f"{PID_FILE}-", dir=data)
    account.give(descriptor)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines([f"{NO_PID}\n".encode(), *lines[1:]])
    Path(draft).replace(data / PID_FILE)


def _serves(process: psutil.Process, data: Path) -> bool:
    try:
        # Every process of a server works in the data folder.
        return process.name() == "postgres" and Path(process.cwd()) == data.resolve()
    except psutil.Error:
        return False


def hold(path: Path, *, when_last: Callable[[], object]) -> None:
    """Count this process as a user until it ends; the last one to end calls when_last."""
    with _guard:
        descriptor = _held.get(path)
        if descriptor is not None and _is_current(descriptor, path):
            return
        descriptor = _open(path)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _held[path] = descriptor
    # Not atexit: multiprocessing's children, such as the workers, skip it but do run finalizers. The negative
    # priority runs after multiprocessing has waited for our children: only then can we be the last.
    Finalize(None, _leave, args=(path, descriptor, when_last), exitpriority=-100)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Explicitly: a child forked meanwhile has a copy of the descriptor, so closing ours would not unlock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _leave(path: Path, descriptor: int, when_last: Callable[[], object]) -> None:
    # Unlock first, then try to lock: of two processes that leave together, the later one to unlock is alone.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    # New processes wait for our lock, then find the server stopped and start it. If the folder was deleted and
    # recreated meanwhile, the users of the new server are counted in another file.
    if _is_current(descriptor, path):
        when_last()
    _held.pop(path, None)
    os.close(descriptor)


def _forget() -> None:
    # A lock belongs to the open file, which fork shares: the parent could make the shared lock exclusive while
    # the child uses the server, and the child's copy would keep the lock after the parent is gone. So the child
    # closes its copy at once (which, unlike unlocking, keeps the parent's lock) and takes its own on connecting.
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()
    _guard.release()


# The guard is held during the fork, so that no other thread's half-finished work is copied into the child.
os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forget)


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    # Root may create the file in a user's folder; that user must be able to open it later.
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


class Address(TypedDict):
    host: str
    port: int
    user: str


class Server:
    def __init__(self, folder: Path, *, is_small: bool = False) -> None:
        self.folder, self.is_small = folder.resolve(), is_small

    def ensure_running(self) -> Address:
        """Start the server unless it is running, and keep it running at least until this process ends."""
        try:
            home = make_home(self.folder)
            # This lock first, so that a process that is ending cannot stop the server we are about to use.
            hold(home / USING_LOCK, when_last=functools.partial(_stop, home))
            with exclusive(home / STARTING_LOCK):
                postmaster = wait_for_postmaster(home / DATA) or _start(home, SMALL if self.is_small else ())
        except OSError as error:
            raise ImproperlyConfigured(
                f"The embedded PostgreSQL cannot use {self.folder} ({error}): set KILIT_VAR to another "
                "folder, or set DATABASE_URL."
            ) from error
        return Address(host=str(postmaster.socket_folder), port=postmaster.port, user=SUPERUSER)

    def is_running(self) -> bool:
        """Check without starting or creating anything."""
        return find_postmaster(home_of(self.folder) / DATA) is not None

    def stop(self) -> bool:
        """Stop the server even if others use it; return whether it was running."""
        home = home_of(self.folder)
        if find_postmaster(home / DATA) is None:
            return False
        with exclusive(home / STARTING_LOCK):
            result = _stop(home)
        if find_postmaster(home / DATA):
            raise ImproperlyConfigured(f"The PostgreSQL in {home / DATA} did not stop: {result.last_line}")
        return True


def _start(home: Path, more_options: Sequence[str]) -> Postmaster:
    data = home / DATA
    _refuse_other_version(data)
    account = account_for(home)
    binaries = binaries_for(account)
    if not data.exists():
        _make_data(home, account=account, binaries=binaries)
    retire_stale_files(data, account=account)
    log_begins_at = _rotate_log(data / LOG)
    # On the command line, which postgresql.conf cannot override.
    socket = socket_folder(data, account=account)
    options = ("-c", "listen_addresses=", "-c", "unix_socket_permissions=0700", "-p", f"{PORT}", "-k", f"{socket}")
    # Relative paths: pg_ctl puts them into a shell command, where a $ in an absolute path would be expanded.
    result = account.run(
        binaries / "pg_ctl", "start", "--wait", f"--timeout={TIMEOUT_SECONDS}",
        "--pgdata", DATA, "--log", f"{DATA}/{LOG}", "--options", shlex.join([*options, *more_options]),
        folder=home,
    )  # fmt: skip
    # Ask the server, not pg_ctl: a server started by a killed process may have been faster than ours.
    postmaster = wait_for_postmaster(data)
    if postmaster is None:
        drop_socket_folder(socket)
        reason = _reason(data / LOG, begins_at=log_begins_at) or result.last_line
        raise ImproperlyConfigured(f"The embedded PostgreSQL in {data} did not start: {reason}")
    return postmaster


def _stop(home: Path) -> CommandResult:
    data = home / DATA
    # Checked first: pg_ctl would signal whatever process has the pid of a stale pid file.
    postmaster = find_postmaster(data)
    if postmaster is None:
        return CommandResult(ok=True, last_line="not running")
    account = account_for(home)
    result = account.run(
        binaries_for(account) / "pg_ctl", "stop", "--mode=fast", "--wait", f"--timeout={TIMEOUT_SECONDS}",
        "--pgdata", DATA,
        folder=home,
    )  # fmt: skip
    drop_socket_folder(postmaster.socket_folder)
    return result


def _make_data(home: Path, *, account: Account, binaries: Path) -> None:
    # Leftovers of killed processes. Their initdb may still be running, hence a new name each time.
    for rest in home.glob(f"{DRAFT}*"):
        shutil.rmtree(rest, ignore_errors=True)
    draft = account.make_private_folder(within=home, prefix=DRAFT)
    result = account.run(
        binaries / "initdb", *INITDB, f"--set=shared_buffers={shared_buffers()}", "--pgdata", draft.name, folder=home
    )
    if not result.ok:
        shutil.rmtree(draft, ignore_errors=True)
        raise ImproperlyConfigured(f"The embedded PostgreSQL cannot create {home / DATA}: {result.last_line}")
    draft.rename(home / DATA)


def shared_buffers() -> str:
    """Return an eighth of the memory: web, workers and browsers run there too."""
    return f"{min(max(machine_memory() // 8 // 2**20, LEAST_BUFFERS), MOST_BUFFERS)}MB"


def _refuse_other_version(data: Path) -> None:
    try:
        version = read_plain_file(data / "PG_VERSION").decode().strip()
    except FileNotFoundError:
        return
    if version != MAJOR_VERSION:
        raise ImproperlyConfigured(
            f"{data} was created by PostgreSQL {version}, but Kilit now includes PostgreSQL {MAJOR_VERSION}: "
            "migrate the data with pg_dump of the older version, or go back to the older version of Kilit."
        )


def _rotate_log(log: Path) -> int:
    if not log.exists():
        return 0
    if log.stat().st_size > LOG_ROTATES_AT_BYTES:
        log.replace(log.with_name(f"{LOG}.1"))
        return 0
    return log.stat().st_size


def _reason(log: Path, *, begins_at: int) -> str:
    if not log.exists():
        return ""
    lines = read_plain_file(log)[begins_at:].decode(errors="replace").strip().splitlines()
    # The very last line may only say that the server is shut down.
    errors = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    return (errors or lines or [""])[-1].strip()
