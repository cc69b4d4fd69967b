"""Finds the server that runs on a data folder; its pid file is checked against the process."""

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
# Larger than any process id.
NO_PID = str(2**31 - 1)
# Recovery after a crash and a clean shutdown may take long; pg_ctl gets the same.
TIMEOUT_SECONDS = 120
ORPHAN_TIMEOUT_SECONDS = 10


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
