"""Runs pg_dump and pg_restore of the version that suits the server: Kilit's own or the machine's.

pg_dump reads servers of its own version and older, pg_restore reads dumps of its own version and older. From 17 on,
pg_restore begins with `SET transaction_timeout`, which a server before 17 does not know.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from kilit.postgres.binaries import bundled_programs

DEBIAN = Path("/usr/lib/postgresql")
TRANSACTION_TIMEOUT = 17  # the first version that has it


class ProgramFailed(Exception):
    """A PostgreSQL program failed; the message is its error line."""


class BackupRefused(Exception):
    """A backup or a restore is not made; the message says why, and what to do."""


class Program(NamedTuple):
    path: Path
    version: str  # such as 18.4

    @property
    def major(self) -> int:
        return major_version(self.version)

    def run(self, *arguments: str | Path) -> None:
        with self.running(*arguments):
            pass

    @contextmanager
    def running(self, *arguments: str | Path) -> Iterator[None]:
        """Run the program beside the block, and wait for its end; if the block fails, it is killed."""
        # Other users can read a command line, so the password is passed in the environment.
        environment = {**os.environ, "LC_ALL": "C", "PGPASSWORD": connection.connection.info.password}
        command = [self.path, *arguments, f"--dbname={conninfo()}"]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=environment, **pipes) as process:
            try:
                yield
                _, errors = process.communicate()
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            stderr = errors.decode(errors="replace")
            raise ProgramFailed(error_line(stderr) or f"{self.path.name}: exit code {process.returncode}")


def conninfo() -> str:
    """Return what the settings say, and no defaults of our libpq, which an older program may not know."""
    keywords = {option.keyword.decode() for option in Conninfo.get_defaults()} - {"password"}
    params = {name: value for name, value in connection.get_connection_params().items() if name in keywords}
    # Of several hosts the one in use: a snapshot is of one server.
    info = connection.connection.info
    return make_conninfo(**{**params, "host": info.host, "port": info.port})


def error_line(stderr: str) -> str:
    """Return the line with the error; the failed statement may follow it, over many lines."""
    lines = stderr.strip().splitlines()
    return next((line for line in lines if "error: " in line), lines[-1] if lines else "")


def find_program(name: str, *, dumped_by: int = 0) -> Program:
    """Return the program nearest to the server's version that can read the dump and write to the server."""
    connection.ensure_connection()
    server: int = connection.pg_version // 10000  # type: ignore[attr-defined]
    is_encrypted = bool(connection.connection.pgconn.ssl_in_use)
    least = max(server, dumped_by)
    programs = installed_programs(name, with_tls=is_encrypted)
    if fitting := [program for program in programs if program.major >= least and fits(program.major, server=server)]:
        return min(fitting, key=lambda program: program.major)
    if not fits(dumped_by, server=server):
        raise BackupRefused(
            f"The backup was made by pg_dump {dumped_by} and cannot be restored into PostgreSQL {server}: "
            f"use a server of version {TRANSACTION_TIMEOUT} or newer."
        )
    bundled = ", and those installed with Kilit cannot use an encrypted connection" if is_encrypted else ""
    raise BackupRefused(
        f"No {name} was found that suits PostgreSQL {server}{bundled}: "
        f"install the client programs of PostgreSQL {least}."
    )


def fits(program: int, *, server: int) -> bool:
    return program < TRANSACTION_TIMEOUT or server >= TRANSACTION_TIMEOUT


def installed_programs(name: str, *, with_tls: bool) -> Iterator[Program]:
    on_path = shutil.which(name)
    places = [*DEBIAN.glob(f"*/bin/{name}"), *([Path(on_path)] if on_path else [])]
    if not with_tls:  # the bundled ones are built without it
        places = [*(folder / name for folder in bundled_programs()), *places]
    for place in places:
        if version := version_of(place):
            yield Program(place, version)


def version_of(place: Path) -> str | None:
    try:
        line = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except OSError:
        return None
    match = re.search(r"\(PostgreSQL\) (\d+(\.\d+)?)", line)
    return match[1] if match else None


def major_version(version: str) -> int:
    """Return 15 for `15.14 (Debian 15.14-0+deb12u1)`."""
    return int(re.split(r"\D", version)[0] or 0)
