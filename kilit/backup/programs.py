"""Runs pg_dump and pg_restore, those of the installation or of the machine, whichever fits the server."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from kilit.postgres.binaries import wheel_programs


class ProgramFailed(Exception):  # noqa: N818 - a fact about the world, not a mistake of ours
    """PostgreSQL's program ended with an error; its last words say which."""


class Program(NamedTuple):
    """One of PostgreSQL's programs, and of which version it is."""

    path: Path
    major: int


def run(name: str, *arguments: str | Path) -> None:
    """Run a program of PostgreSQL against our database to its end."""
    connection.ensure_connection()
    info = connection.connection.info
    # The address without the password, which goes by the environment: other users can read a command line.
    environment = {**os.environ, "LC_ALL": "C", "PGPASSWORD": info.password}
    command = [program(name).path, *arguments, f"--dbname={info.dsn}"]
    ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if ended.returncode:
        raise ProgramFailed(said(ended.stderr.decode(errors="replace")) or f"{name}: exit code {ended.returncode}")


def said(stderr: str) -> str:
    """Return the line that says what went wrong; the statement that it went wrong in may follow it, over many lines."""
    lines = stderr.strip().splitlines()
    return next((line for line in lines if "error: " in line), lines[-1] if lines else "")


def program(name: str) -> Program:
    """Return the program that fits the server: of its own version if there is one, else the next newer."""
    connection.ensure_connection()
    server = connection.connection.info.server_version // 10000
    found = [each for each in _candidates(name) if each.major >= server]
    if not found:
        raise ImproperlyConfigured(
            f"The server is PostgreSQL {server} and no {name} of that version or newer is here: "
            f"install the client of PostgreSQL {server}."
        )
    # An older server does not know all that a newer pg_restore says, so the nearest is best.
    return min(found, key=lambda each: each.major)


def _candidates(name: str) -> list[Program]:
    places = [wheel_programs() / name]
    if on_path := shutil.which(name):
        places.append(Path(on_path))
    return [Program(place, major) for place in places if (major := _major_version(place))]


def _major_version(place: Path) -> int | None:
    try:
        told = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except OSError:
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", told)
    return int(found[1]) if found else None
