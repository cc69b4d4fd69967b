"""The product's own processes on the database of the run, and a client that speaks to them over one connection."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil
from django.conf import settings

from kilit.workers.processes import kill_group, start_group
from tests.support.workers import database_url

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a process that works on this run's database, with limits out of the way."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": database_url(),
        "SECRET_KEY": settings.SECRET_KEY,
        "KILIT_RATE_PER_MINUTE": "1000000",
        "KILIT_LOG_LEVEL": "WARNING",
        **variables,
    }


class Simulator:
    """A simulator in a process of its own, by the name of its module in `peers`."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, "-m", f"tests.tools.benchmarks.peers.{name}"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
        self.process = subprocess.Popen(command, **pipes)
        self.addresses: dict[str, str] = json.loads(self._line())
        settings.GOOGLE_TOKEN_URI = self.addresses["KILIT_GOOGLE_TOKEN_URI"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let it end, by the end of its input."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(PATIENCE)

    def forget(self) -> None:
        """Empty its books."""
        assert self.process.stdin
        self.process.stdin.write("reset\n")
        self.process.stdin.flush()
        self._line()

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


@contextmanager
def started(command: list[str], **variables: str) -> Iterator[psutil.Process]:
    """Run a command of the product until the block ends."""
    process = start_group([sys.executable, *command], environment=environment(**variables), folder=ROOT)
    try:
        yield psutil.Process(process.pid)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        kill_group(process.pid)
        process.wait(timeout=10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def web(*, processes: int = 1, **variables: str) -> Iterator["Web"]:
    """Run the web server as the Procfile does, and wait until it answers."""
    port = free_port()
    command = ["-m", "gunicorn", "config.web.wsgi", "--config", "config/web/gunicorn.py"]
    with started(command, PORT=str(port), WEB_CONCURRENCY=str(processes), **variables) as process:
        found = Web(port, process)
        end = time.monotonic() + PATIENCE
        while not found.answers():
            if time.monotonic() > end or not process.is_running():
                raise RuntimeError("the web server does not answer")
            time.sleep(0.1)
        yield found


def resident_megabytes(process: psutil.Process) -> float:
    """Return what a process and everything below it holds in memory; what they share counts once."""
    members = [process, *process.children(recursive=True)]
    return sum(member.memory_full_info().pss for member in members) / 1024**2


class Web:
    """A running web server, and one connection to it that stays open."""

    def __init__(self, port: int, process: psutil.Process, headers: dict[str, str] | None = None) -> None:
        """Connect at the first request."""
        self.port, self.process, self.headers = port, process, headers or {}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def with_headers(self, **headers: str) -> "Web":
        """Return another connection to the same server, with headers of its own: `x_api_key="…"`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Web(self.port, self.process, self.headers | named)

    def answers(self) -> bool:
        """Tell whether the server is up."""
        try:
            return self._ask("GET", "/healthz", None)[0] == 200
        except OSError:
            self.connection.close()
            return False

    def get(self, path: str) -> Any:
        """Return what an address answers, read as JSON where it is."""
        return self._read("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """Send JSON, and return the answer."""
        return self._read("POST", path, json.dumps(body).encode())

    def _read(self, method: str, path: str, body: bytes | None) -> Any:
        status, kind, answer = self._ask(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer[:300]!r}")
        return json.loads(answer) if "json" in kind else answer

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, str, bytes]:
        headers = self.headers | ({"Content-Type": "application/json"} if body is not None else {})
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):
            # The server closes a connection that rests for a while; the request was not begun.
            self.connection.close()
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read()
