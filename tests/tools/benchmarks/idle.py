"""Idle: what an installation with nothing to do costs a minute, in CPU seconds and in statements."""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import NamedTuple

import psutil
import psycopg
from django.db import connection

from kilit.postgres.base import configured_server
from kilit.postgres.place import DATA, home_of
from kilit.postgres.server import LOG, find_postmaster, read_plain_file
from kilit.workers.models import Heartbeat, Runner
from kilit.workers.processes import runs
from tests.tools.benchmarks.harness import Figure, NotMeasured
from tests.tools.benchmarks.peers.running import idle_django_q2, idle_procrastinate
from tests.tools.benchmarks.servers import free_port, started

MINUTE = 60.0  # seconds
SETTLE = 45.0  # seconds for what a start causes: sweeps that never ran, connections, imports
STATEMENT = re.compile(rb"LOG:  (?:statement|execute [^:]*): ")
STACK = """
from django.conf import settings
from config.local.stack import Stack
Stack(settings.BASE_DIR, lock=settings.KILIT_VAR / "run" / "idle.pid").run()
"""


class Idle(NamedTuple):
    cpu: float  # seconds a minute, of all processes and of PostgreSQL's
    statements: float  # a minute, BEGIN and COMMIT included


@contextmanager
def installation() -> Iterator[psutil.Process]:
    """Run the Procfile as `manage.py up` does: web, workers and runner."""
    with started(["-c", STACK], DJANGO_SETTINGS_MODULE="config.settings.server", PORT=str(free_port())) as process:
        end = time.monotonic() + MINUTE
        while not (Heartbeat.objects.alive().exists() and Runner.objects.alive().exists()):
            if time.monotonic() > end:
                raise NotMeasured("workers and runner did not start")
            time.sleep(0.5)
        connection.close()
        yield process


def measure(running: AbstractContextManager[psutil.Process]) -> Idle:
    """Let it settle, and count for a minute."""
    home = home_of(configured_server().folder)
    postmaster = find_postmaster(home / DATA)
    if postmaster is None:
        raise NotMeasured("only the embedded PostgreSQL shows its processes and its log")
    with statements_logged(), running as process:
        connection.close()
        time.sleep(SETTLE)
        trees = [process, psutil.Process(postmaster.pid)]
        cpu, begins_at = cpu_seconds(trees), len(read_plain_file(home / DATA / LOG))
        time.sleep(MINUTE)
        taken, log = cpu_seconds(trees) - cpu, read_plain_file(home / DATA / LOG)[begins_at:]
    return Idle(taken, len(STATEMENT.findall(log)))


@contextmanager
def statements_logged() -> Iterator[None]:
    """Let PostgreSQL log each statement of this run's database; new connections do."""
    name = psycopg.sql.Identifier(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(psycopg.sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(name))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(psycopg.sql.SQL("ALTER DATABASE {} RESET log_statement").format(name))


def cpu_seconds(trees: list[psutil.Process]) -> float:
    """Return what processes and all below them have used, with those that ended: their parents have waited for them."""
    members = [member for tree in trees for member in (tree, *tree.children(recursive=True)) if runs(member)]
    return sum(sum(member.cpu_times()[:4]) for member in members)


@cache
def ours() -> Idle:
    return measure(installation())


@cache
def django_q2() -> Idle:
    return measure(idle_django_q2())


@cache
def procrastinate() -> Idle:
    return measure(idle_procrastinate())


def our_cpu() -> float:
    return ours().cpu


def our_statements() -> float:
    return ours().statements


LIMITS = {"cpu": 0.6, "statements": 120.0}
Q2 = "django-q2's cluster alone, with its defaults"
PROCRASTINATE = "one worker of procrastinate alone, with its defaults"


def figure(name: str, of: str, other: object, against: str, *, at_most: float | None = None) -> Figure:
    unit, ours = {"cpu": ("CPU s/min", our_cpu), "statements": ("statements/min", our_statements)}[of]
    return Figure(name, unit, ours, other, against, at_most=at_most, rounds=1, warm=False)


FIGURES = [
    figure("idle", "cpu", lambda: LIMITS["cpu"], "1 % of a core", at_most=1),
    figure("idle_vs_django_q2", "cpu", lambda: django_q2().cpu, Q2),
    figure("idle_vs_procrastinate", "cpu", lambda: procrastinate().cpu, PROCRASTINATE),
    figure("idle_statements", "statements", lambda: LIMITS["statements"], "two a second", at_most=1),
    figure("idle_statements_vs_django_q2", "statements", lambda: django_q2().statements, Q2),
    figure("idle_statements_vs_procrastinate", "statements", lambda: procrastinate().statements, PROCRASTINATE),
]
