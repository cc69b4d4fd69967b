"""Runs pg_dump and pg_restore: from our wheel or from the machine, whichever matches the server's version."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from kilit.postgres.binaries import wheel_programs


class ProgramFailed(Exception):  # noqa: N818 - a fact about the machine, not a bug
    """A PostgreSQL program failed; the message is its error line."""


def run_program(name: str, *arguments: str | Path) -> None:
    connection.ensure_connection()
    info = connection.connection.info
    # The dsn has no password; other users can read a command line, so it is passed in the environment.
    environment = {**os.environ, "LC_ALL": "C", "PGPASSWORD": info.password}
    command = [find_program(name), *arguments, f"--dbname={info.dsn}"]
    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode:
        stderr = result.stderr.decode(errors="replace")
        raise ProgramFailed(error_line(stderr) or f"{name}: exit code {result.returncode}")


def error_line(stderr: str) -> str:
    """Return the line with the error; the failed statement may follow it, over many lines."""
    lines = stderr.strip().splitlines()
    return next((line for line in lines if "error: " in line), lines[-1] if lines else "")


def find_program(name: str) -> Path:
    """Return the program of the server's version, or else of the next newer one."""
    server = connection.connection.info.server_version // 10000
    places = [wheel_programs() / name, *(Path(found) for found in [shutil.which(name)] if found)]
    versions = {place: major for place in places if (major := _major_version(place)) and major >= server}
    if not versions:
        raise ImproperlyConfigured(
            f"The server is PostgreSQL {server} and no {name} of that version or newer was found: "
            f"install the client programs of PostgreSQL {server}."
        )
    # An older server may not understand a much newer pg_restore, so the nearest version is best.
    return min(versions, key=versions.__getitem__)


def _major_version(place: Path) -> int | None:
    try:
        version = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except OSError:
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", version)
    return int(found[1]) if found else None
