"""Finds the server that runs on a data folder, trusting its pid file only as far as the process agrees."""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.core.exceptions import ImproperlyConfigured

from kilit.postgres.account import Account

PID_FILE = "postmaster.pid"
SOCKET_LOCK = ".s.PGSQL.5432.lock"
# Larger than any process number the systems give out.
NOBODY = str(2**31 - 1)
# Recovery after a crash and a clean shutdown may take long; pg_ctl gets the same.
PATIENCE_SECONDS = 120
ORPHANS_MAY_TAKE_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Postmaster:
    """A running server, as its pid file describes it."""

    pid: int
    port: int
    socket_folder: Path
    status: str


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the server that runs on this data, or None when there is no pid file or it is stale."""
    try:
        lines = os.fsdecode(read_plain_file(data / PID_FILE)).splitlines()
        process = psutil.Process(int(lines[0]))
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None
    # After a crash the number may belong to anybody, even to a zombie.
    if not _serves(process, data):
        return None
    match lines:
        case [_, _, _, port, socket_folder, _, _, status, *_]:
            return Postmaster(pid=process.pid, port=int(port), socket_folder=Path(socket_folder), status=status.strip())
        case _:
            return Postmaster(pid=process.pid, port=0, socket_folder=data, status="starting")


def wait_for_postmaster(data: Path) -> Postmaster | None:
    """Return the server once it is ready, or None once it is gone."""
    # Whoever was starting or stopping it may have been killed meanwhile; the server goes on by itself.
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (postmaster := find_postmaster(data)) and postmaster.status != "ready":
        if time.monotonic() > deadline:
            raise ImproperlyConfigured(
                f"The PostgreSQL in {data} (process {postmaster.pid}) has been {postmaster.status} for "
                f"{PATIENCE_SECONDS} seconds: look at its log, or set DATABASE_URL."
            )
        time.sleep(0.05)
    return postmaster


def read_plain_file(path: Path) -> bytes:
    """Read what the server wrote, but no link by which its user could show us a file of root's."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def retire_stale_files(data: Path, *, account: Account) -> None:
    """Keep PostgreSQL from mistaking a process that got a dead server's number for that server."""
    (data / SOCKET_LOCK).unlink(missing_ok=True)
    try:
        lines = read_plain_file(data / PID_FILE).splitlines(keepends=True)
    except FileNotFoundError:
        return
    # Children that were idle end with the server, busy ones when they are done.
    deadline = time.monotonic() + ORPHANS_MAY_TAKE_SECONDS
    while any(_serves(process, data) for process in psutil.process_iter()) and time.monotonic() < deadline:
        time.sleep(0.05)
    # The file stays, less the number: it also names the shared memory, by which PostgreSQL sees whether
    # children of the dead server are at work even now, and refuses to start.
    descriptor, draft = tempfile.mkstemp(prefix=f"{PID_FILE}-", dir=data)
    account.give(descriptor)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines([f"{NOBODY}\n".encode(), *lines[1:]])
    Path(draft).replace(data / PID_FILE)


def _serves(process: psutil.Process, data: Path) -> bool:
    try:
        # Every process of a server works in the data folder.
        return process.name() == "postgres" and Path(process.cwd()) == data.resolve()
    except psutil.Error:
        return False
