"""Whole installations for the operations' tests: web, workers and database in processes of their own, ended by pid."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from kilit.postgres.place import home_of
from kilit.postgres.server import Server
from kilit.workers.processes import PARENT, kill_group
from tests.support.commands import ROOT, fresh_environment
from tests.support.waiting import PATIENCE, wait_until


class Installation:
    """A data folder, its database, and the processes that this test started on it."""

    def __init__(self, room: Path, settings: str) -> None:
        self.settings = settings
        self.folder, self.log = room / "var", room / "log.txt"
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        return fresh_environment(
            DJANGO_SETTINGS_MODULE=self.settings,
            KILIT_VAR=str(self.folder),
            SECRET_KEY="tests",
            KILIT_RATE_PER_MINUTE="1000000",
            KILIT_WORKERS="2",
        )

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=2 * PATIENCE, check=False
        )

    def must(self, *arguments: str) -> str:
        ended = self.manage(*arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def start(self, *command: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [*map(str, command)],
                cwd=ROOT,
                env={**self.environment, **options.pop("variables", {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
                **options,
            )
        self.started.append(process)
        return process

    def workers(self) -> subprocess.Popen[bytes]:
        """Start workers, and wait until a task went through them."""
        # A test run that is killed takes them along.
        process = self.start(sys.executable, "manage.py", "runworkers", variables={PARENT: str(os.getpid())})
        alive = "SELECT count(*) FROM workers_heartbeat WHERE pid = %s AND alive_at > now() - interval '30 s'"
        wait_until(lambda: self.ask(alive, process.pid) == [(1,)])
        return process

    def connect(self) -> psycopg.Connection[Any]:
        address = Server(self.folder / "postgres").ensure_running()
        return psycopg.connect(**address, dbname="kilit", autocommit=True)

    def ask(self, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            cursor = connection.execute(statement, params or None)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=PATIENCE)
            kill_group(process.pid)  # a supervisor's cluster, in a group of its own, ends with it
            process.wait(timeout=PATIENCE)
        Server(self.folder / "postgres").stop()
        if (home := home_of(self.folder / "postgres")) != self.folder / "postgres":
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def installation(settings: str = "tests.settings") -> Iterator[Installation]:
    """Provide an installation, and remove it afterwards."""
    # Not pytest's tmp_path: root's is closed to the user that runs PostgreSQL.
    room = Path(tempfile.mkdtemp(prefix="kilit-operations-", dir="/tmp"))
    room.chmod(0o755)
    made = Installation(room, settings)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(room, ignore_errors=True)
