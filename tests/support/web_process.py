"""The web server of the Procfile in processes of its own, on the test database."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from config.local.stack import procfile
from kilit.workers.processes import kill_family
from tests.support.commands import ROOT, free_port, fresh_environment
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import database_url


@contextmanager
def web_process(folder: Path, *, path: str = "", **variables: str) -> Iterator[int]:
    """Start it, wait until it accepts connections, and yield its port; `path` is that of a socket to use instead."""
    port = free_port()
    variables |= {"GUNICORN_CMD_ARGS": f"--bind unix:{path}"} if path else {}
    environment = fresh_environment(
        **{
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": database_url(),
            "KILIT_VAR": str(folder),
            "PORT": str(port),
            "WEB_CONCURRENCY": "2",
        }
        | variables
    )
    program, *arguments = dict(procfile(ROOT))["web"].split()
    command = [str(Path(sys.executable).parent / program), *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or _accepts(path or ("127.0.0.1", port)))
        assert process.poll() is None, "the web server has ended"
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        kill_family(process.pid)


class RawConnection:
    """A client that sends exactly the bytes it is given."""

    def __init__(self, place: Any) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode("latin-1"))

    def read_all(self) -> bytes:
        """Read until the server closes the connection."""
        received = b""
        with suppress(ConnectionError):
            while data := self.socket.recv(65536):
                received += data
        return received


def _accepts(place: Any) -> bool:
    with socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET) as probe:
        return probe.connect_ex(place) == 0
