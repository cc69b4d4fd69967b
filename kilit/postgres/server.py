"""Starts, shares and stops the private PostgreSQL of an installation."""

import functools
import shlex
import shutil
from pathlib import Path
from typing import TypedDict

from django.core.exceptions import ImproperlyConfigured

from kilit.postgres.account import Account, Outcome, account_for
from kilit.postgres.binaries import MAJOR_VERSION, binaries_for
from kilit.postgres.lock import exclusive, hold
from kilit.postgres.memory import shared_buffers
from kilit.postgres.place import DATA, STARTING_LOCK, USING_LOCK, drop_socket_folder, home_of, settle, socket_folder
from kilit.postgres.postmaster import (
    PATIENCE_SECONDS,
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
HALF_MADE = "half-made-"

INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    # Upper and lower case of every alphabet, the same on every machine, whatever locales it has.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    # Who can reach the socket is trusted; nobody else can reach it.
    "--auth-local=trust",
    "--auth-host=reject",
    # Defaults that the operator may change in postgresql.conf.
    "--set=max_connections=200",
    # No disk turns any more: else a deep page of a list would be read by a walk of the whole table.
    "--set=random_page_cost=1.1",
    # Fewer checkpoints: after each, every page is written whole when it changes first.
    "--set=max_wal_size=2GB",
    "--set=checkpoint_timeout=15min",
    "--set=timezone=UTC",
    "--set=log_timezone=UTC",
    # A short log without anybody's data: Django writes values into its statements.
    "--set=log_checkpoints=off",
    "--set=log_autovacuum_min_duration=-1",
    "--set=log_error_verbosity=terse",
    "--set=log_min_error_statement=panic",
)


class Address(TypedDict):
    """How psycopg finds the server."""

    host: str
    port: int
    user: str


class Server:
    """The PostgreSQL whose data belongs to a folder, shared by all processes that name the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def ensure_running(self) -> Address:
        """Start the server unless it runs, and keep it running at least until this process ends."""
        try:
            home = settle(self.folder)
            # First this lock, so that a process on its way out cannot stop what we are about to find running.
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
        """Tell whether the server runs, without starting or making anything."""
        return find_postmaster(home_of(self.folder) / DATA) is not None

    def stop(self) -> bool:
        """Stop the server even if others use it, and tell whether it was running."""
        home = home_of(self.folder)
        if find_postmaster(home / DATA) is None:
            return False
        with exclusive(home / STARTING_LOCK):
            outcome = _stop(home)
        if find_postmaster(home / DATA):
            raise ImproperlyConfigured(f"The PostgreSQL in {home / DATA} does not stop: {outcome.last_line}")
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
    # On the command line, so that nothing in postgresql.conf opens the server to others.
    socket = socket_folder(data, account=account)
    options = ("-c", "listen_addresses=", "-c", "unix_socket_permissions=0700", "-p", f"{PORT}", "-k", f"{socket}")
    # Paths relative to home: pg_ctl puts them into a shell command, where a $ in an absolute path does harm.
    outcome = account.run(
        binaries / "pg_ctl", "start", "--wait", f"--timeout={PATIENCE_SECONDS}",
        "--pgdata", DATA, "--log", f"{DATA}/{LOG}", "--options", shlex.join(options),
        folder=home,
    )  # fmt: skip
    # Asked of the server, not of pg_ctl: one that a killed process started may have come up before ours.
    postmaster = wait_for_postmaster(data)
    if postmaster is None:
        drop_socket_folder(socket)
        reason = _reason(data / LOG, begins_at=log_begins_at) or outcome.last_line
        raise ImproperlyConfigured(f"The embedded PostgreSQL in {data} did not start: {reason}")
    return postmaster


def _stop(home: Path) -> Outcome:
    data = home / DATA
    # Only when the process is ours: pg_ctl would signal whoever has the number in a stale pid file.
    postmaster = find_postmaster(data)
    if postmaster is None:
        return Outcome(ok=True, last_line="not running")
    account = account_for(home)
    outcome = account.run(
        binaries_for(account) / "pg_ctl", "stop", "--mode=fast", "--wait", f"--timeout={PATIENCE_SECONDS}",
        "--pgdata", DATA,
        folder=home,
    )  # fmt: skip
    drop_socket_folder(postmaster.socket_folder)
    return outcome


def _make_data(home: Path, *, account: Account, binaries: Path) -> None:
    # What a killed process left half made. Its initdb may still be at work, hence a new name each time.
    for rest in home.glob(f"{HALF_MADE}*"):
        shutil.rmtree(rest, ignore_errors=True)
    draft = account.make_private_folder(within=home, prefix=HALF_MADE)
    outcome = account.run(
        binaries / "initdb", *INITDB, f"--set=shared_buffers={shared_buffers()}", "--pgdata", draft.name, folder=home
    )
    if not outcome.ok:
        shutil.rmtree(draft, ignore_errors=True)
        raise ImproperlyConfigured(f"The embedded PostgreSQL cannot make {home / DATA}: {outcome.last_line}")
    draft.rename(home / DATA)


def _refuse_other_version(data: Path) -> None:
    try:
        version = read_plain_file(data / "PG_VERSION").decode().strip()
    except FileNotFoundError:
        return
    if version != MAJOR_VERSION:
        raise ImproperlyConfigured(
            f"{data} was made by PostgreSQL {version} and Kilit now brings PostgreSQL {MAJOR_VERSION}: "
            "move the data with pg_dump of the older version, or go back to the older Kilit."
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
    # The very last line may only say that the system is shut down.
    telling = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    return (telling or lines or [""])[-1].strip()
