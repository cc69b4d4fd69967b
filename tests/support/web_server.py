"""The web server in a thread, with a small application instead of Django; and raw connections to it."""

import asyncio
import json
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from gunicorn.app.base import BaseApplication
from gunicorn.config import Config
from gunicorn.glogging import Logger

from config.web.server.admission import Caller, RequestCredentials
from config.web.server.limits import WebLimits
from config.web.server.worker import WebWorker
from tests.support.waiting import PATIENCE, wait_until


class SmallApplication:
    """Answers what it was asked, and waits where a test wants it to."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.ended: list[str] = []
        self.go_on = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        path = environ["PATH_INFO"]
        self.called.append(path)
        try:
            return self._answer(path, environ, start_response)
        finally:
            self.ended.append(path)

    def _answer(self, path: str, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if path == "/wait":
            assert self.go_on.wait(PATIENCE)
        if path == "/fail":
            raise RuntimeError("a fault of the application")
        if path == "/empty":
            start_response("204 No Content", [])
            return []
        if path == "/unchanged":
            start_response("304 Not Modified", [("ETag", '"1"')])
            return []
        if path.startswith("/large/"):
            size = int(path.rpartition("/")[2])
            start_response("200 OK", [("Content-Length", str(size))])
            return (b"x" * min(65536, size - start) for start in range(0, size, 65536))
        if path == "/broken":
            start_response("200 OK", [("Content-Length", "1000")])
            return self._broken()
        names = ("REQUEST_METHOD", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING", "REMOTE_ADDR", "wsgi.url_scheme")
        seen = {name: environ.get(name) for name in names}
        body = json.dumps({**seen, "path": path, "body": environ["wsgi.input"].read().decode("latin-1")}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    def _broken(self) -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("a fault in the middle of an answer")


@dataclass
class WebAnswer:
    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])


class RawConnection:
    """A client that sends exactly the bytes it is given."""

    def __init__(self, place: Any) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(place)
        self.received = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, text: str | bytes) -> None:
        self.socket.sendall(text.encode("latin-1") if isinstance(text, str) else text)

    def read_until(self, mark: bytes) -> bytes:
        while mark not in self.received:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self.received)
            self.received += data
        end = self.received.index(mark) + len(mark)
        found = bytes(self.received[:end])
        del self.received[:end]
        return found

    def answer(self, *, method: str = "GET") -> WebAnswer:
        """Read one answer, by its length."""
        first, *lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split()[1])
        size = 0 if method == "HEAD" or status in {204, 304} or status < 200 else int(headers["content-length"])
        while len(self.received) < size:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self.received)
            self.received += data
        content = bytes(self.received[:size])
        del self.received[:size]
        return WebAnswer(status, headers, content)

    def has_answer(self) -> bool:
        """Return whether the server has sent something that was not read yet."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def is_closed(self) -> bool:
        """Wait until the server closes the connection, and tell whether it sent nothing more."""
        try:
            return not (self.received + self.socket.recv(1))
        except ConnectionError:
            return True


@dataclass
class RunningServer:
    place: Any  # address and port, or the path of a socket
    worker: Any
    application: SmallApplication = field(default_factory=SmallApplication)
    identified: list[RequestCredentials] = field(default_factory=list)  # for which the database would have been asked

    def connect(self) -> RawConnection:
        return RawConnection(self.place)

    def ask(self, text: str | bytes) -> WebAnswer:
        with self.connect() as connection:
            connection.send(text)
            return connection.answer()

    def get(self, path: str = "/") -> WebAnswer:
        return self.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    def stop(self) -> None:
        with suppress(RuntimeError):  # it has ended
            self.worker.loop.call_soon_threadsafe(self.worker.stop)


class _Application(BaseApplication):
    def __init__(self, callable_: Any) -> None:
        self.callable = callable_

    def wsgi(self) -> Any:
        return self.callable


class KnownCallers:
    """Keys and sessions, instead of those of a database."""

    def __init__(self, known: dict[str, Caller]) -> None:
        self._known = known
        self.asked: list[RequestCredentials] = []

    def identify(self, credentials: RequestCredentials) -> Caller:
        self.asked.append(credentials)
        return self._known.get(credentials.session or credentials.key, Caller.UNKNOWN)


@contextmanager
def web_server(
    *, threads: int = 2, path: str = "", known: dict[str, Caller] | None = None, **limits: Any
) -> Iterator[RunningServer]:
    """Run the server until the block ends; `path` is that of a socket in the file system."""
    config = Config()
    for name, value in {
        "threads": threads,
        "loglevel": "critical",
        "graceful_timeout": PATIENCE,
        "keepalive": 30,
    }.items():
        config.set(name, value)
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen(1024)
    application = SmallApplication()
    arguments = (1, os.getppid(), [listener], _Application(application), 60, config, Logger(config))
    callers = KnownCallers(known or {})
    worker = WebWorker(*arguments, limits=WebLimits(**limits))
    worker.identify = callers.identify  # type: ignore[method-assign]
    worker.wsgi = application
    worker.tpool, worker.liveness_pool = ThreadPoolExecutor(threads), ThreadPoolExecutor(1)
    server = RunningServer(path or listener.getsockname(), worker, application, callers.asked)
    thread = threading.Thread(target=lambda: asyncio.run(worker.serve()))
    thread.start()
    try:
        server.get("/")
        wait_until(lambda: not len(worker.connections), every=0.01)  # or that one would count, too
        yield server
    finally:
        application.go_on.set()
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        listener.close()
        worker.tmp.close()
