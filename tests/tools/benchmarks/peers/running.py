"""Starts the peers on the run's database, and drains a batch of jobs through each."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
from django.conf import settings
from django.db import connection, transaction
from django_q.models import OrmQ
from django_q.tasks import async_task

from kilit.workers.processes import kill_group, start_group
from tests.tools.benchmarks.harness import NotMeasured

ROOT = Path(__file__).resolve().parents[4]
JOBS = 1_000
WORKERS = 2  # processes, one for each core
PATIENCE = 120.0


class Peers:
    """What runs at the moment."""

    procrastinate: "list[subprocess.Popen[str]]"
    conninfo: str


@contextmanager
def running() -> Iterator[None]:
    """Run both peers, idle until they are given jobs."""
    with procrastinate(), django_q2():
        yield


@contextmanager
def procrastinate() -> Iterator[None]:
    """Install its tables, and start its workers."""
    install_procrastinate()
    command = [sys.executable, "-m", "tests.tools.benchmarks.peers.procrastinate_worker", Peers.conninfo]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    Peers.procrastinate = [subprocess.Popen(command, **pipes) for _ in range(WORKERS)]
    try:
        for worker in Peers.procrastinate:
            _expect(worker, "ready")
        yield
    finally:
        for worker in Peers.procrastinate:
            worker.kill()
            worker.wait(timeout=10)
            for pipe in (worker.stdin, worker.stdout):
                if pipe:
                    pipe.close()


def install_procrastinate() -> None:
    params = connection.get_connection_params()
    address = {name: params[name] for name in ("host", "port", "user", "dbname") if params.get(name)}
    Peers.conninfo = psycopg.conninfo.make_conninfo(**address)
    try:
        from procrastinate.schema import SchemaManager
    except ImportError:
        raise NotMeasured("procrastinate is not installed") from None
    with psycopg.connect(Peers.conninfo, autocommit=True) as bare:
        bare.execute("DROP SCHEMA IF EXISTS peer CASCADE; CREATE SCHEMA peer")
        Peers.conninfo += " options='-c search_path=peer'"
    with psycopg.connect(Peers.conninfo, autocommit=True) as bare:
        bare.execute(SchemaManager.get_schema().encode())


@contextmanager
def idle_procrastinate() -> Iterator[psutil.Process]:
    """Run one worker with its defaults: it listens, and looks every five seconds."""
    install_procrastinate()
    command = [sys.executable, "-m", "tests.tools.benchmarks.peers.procrastinate_worker", Peers.conninfo, "--idle"]
    with _group(command, os.environ) as worker:
        yield worker


@contextmanager
def idle_django_q2() -> Iterator[psutil.Process]:
    """Run one cluster with its defaults: it looks every fifth of a second."""
    environment = {**_q2_environment(), "BENCH_TUNED": ""}
    with _group([sys.executable, "-m", "django", "qcluster"], environment) as cluster:
        yield cluster


@contextmanager
def _group(command: list[str], environment: Mapping[str, str]) -> Iterator[psutil.Process]:
    process = start_group(command, environment=environment, folder=ROOT)
    try:
        yield psutil.Process(process.pid)
    finally:
        kill_group(process.pid)
        process.wait(timeout=10)


def drain_procrastinate() -> float:
    enqueue_procrastinate()
    return finish_procrastinate()


def enqueue_procrastinate(jobs: int = JOBS) -> None:
    with psycopg.connect(Peers.conninfo, autocommit=True) as bare:
        bare.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, args)"
            " SELECT 'default', 'nothing', '{}' FROM generate_series(1, %s)",
            [jobs],
        )


def finish_procrastinate(jobs: int = JOBS) -> float:
    """Have jobs that do nothing fetched, run and finished."""
    with psycopg.connect(Peers.conninfo, autocommit=True) as bare:
        start = time.perf_counter()
        for worker in Peers.procrastinate:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in Peers.procrastinate:
            _expect(worker, "done")
        taken = time.perf_counter() - start
        left = bare.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()
    assert left == (0,), left
    return jobs / taken


@contextmanager
def django_q2() -> Iterator[None]:
    """Start a cluster of its own project."""
    environment = {**_q2_environment(), "BENCH_TUNED": "true"}
    with _group([sys.executable, "-m", "django", "qcluster"], environment):
        yield


def _q2_environment() -> dict[str, str]:
    params = connection.get_connection_params()
    names = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "NAME"}
    address = {long: str(params[short]) for short, long in names.items() if params.get(short)}
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.tools.benchmarks.peers.q2_settings",
        "BENCH_DATABASE": json.dumps(address),
        "SECRET_KEY": settings.SECRET_KEY,
    }


def drain_django_q2() -> float:
    enqueue_django_q2()
    return finish_django_q2()


def enqueue_django_q2(jobs: int = JOBS) -> None:
    with transaction.atomic():  # all are there at once
        for _ in range(jobs):
            async_task("time.time")


def finish_django_q2(jobs: int = JOBS) -> float:
    """Have tasks that do nothing fetched, run and acknowledged."""
    start = time.perf_counter()
    while OrmQ.objects.exists():
        if time.perf_counter() - start > PATIENCE:
            raise NotMeasured("django-q2 did not finish in time")
        time.sleep(0.01)
    return jobs / (time.perf_counter() - start)


def _expect(worker: "subprocess.Popen[str]", word: str) -> None:
    assert worker.stdout
    said = worker.stdout.readline().strip()
    if said != word:
        raise NotMeasured(f"procrastinate's worker said {said!r}, not {word!r}")
