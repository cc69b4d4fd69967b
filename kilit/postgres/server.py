"""Starts, shares and stops the embedded PostgreSQL of an installation."""

import functools
import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from django.core.exceptions import ImproperlyConfigured

from kilit.postgres.account import Account, CommandResult, account_for
from kilit.postgres.binaries import MAJOR_VERSION, binaries_for
from kilit.postgres.lock import exclusive, hold
from kilit.postgres.place import DATA, STARTING_LOCK, USING_LOCK, drop_socket_folder, home_of, make_home, socket_folder
from kilit.postgres.postmaster import (
    TIMEOUT_SECONDS,
    Postmaster,
    find_postmaster,
    read_plain_file,
    retire_stale_files,
    wait_for_postmaster,
)

SUPERUSER = "kilit"
PORT = 5432
LOG = "postgres.log"
LOG_ROTATES_AT_BYTES = 5_000_000
DRAFT = "draft-"
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
LEAST_BUFFERS, MOST_BUFFERS = 128, 4096  # MB

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


class Address(TypedDict):
    host: str
    port: int
    user: str


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def ensure_running(self) -> Address:
        """Start the server unless it is running, and keep it running at least until this process ends."""
        try:
            home = make_home(self.folder)
            # This lock first, so that a process that is ending cannot stop the server we are about to use.
            hold(home / USING_LOCK, when_last=functools.partial(_stop, home))
            with exclusive(home / STARTING_LOCK):
                postmaster = wait_for_postmaster(home / DATA) or _start(home)
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


def _start(home: Path) -> Postmaster:
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
        "--pgdata", DATA, "--log", f"{DATA}/{LOG}", "--options", shlex.join(options),
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
    """Return an eighth of the machine's or container's memory: web, workers and browsers run there too."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no container, or no limit ("max")
        memory = min(memory, int(CONTAINER_LIMIT.read_text()))
    return f"{min(max(memory // 8 // 2**20, LEAST_BUFFERS), MOST_BUFFERS)}MB"


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
