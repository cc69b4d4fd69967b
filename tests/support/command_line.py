"""The command line, run in this process as its program runs it, and servers that answer whatever a test says."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from kilit_cli.__main__ import run


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Runs commands with an address and a key in the environment, as scripts do."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def use(self, address: str, key: str) -> None:
        self._monkeypatch.setenv("KILIT_URL", address)
        self._monkeypatch.setenv("KILIT_KEY", key)

    def __call__(self, *arguments: object) -> Ended:
        self._capsys.readouterr()
        try:
            code = run(list(map(str, arguments)))
        except SystemExit as ended:  # cyclopts, of wrong usage
            code = int(ended.code or 0)
        return Ended(code, *self._capsys.readouterr())


@dataclass
class StrangeServer:
    """Answers each connection with the same bytes, and keeps what it was sent."""

    answer: bytes
    requests: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread; to close alone would not
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self._socket.accept()
                with channel:
                    self.requests.append(channel.recv(65_536))
                    channel.sendall(self.answer)
                    channel.shutdown(socket.SHUT_WR)
                    while channel.recv(65_536):
                        pass
            except OSError:
                if self._socket.fileno() < 0:
                    return


@contextmanager
def strange_server(answer: bytes) -> Iterator[StrangeServer]:
    server = StrangeServer(answer)
    try:
        yield server
    finally:
        server.close()


def http(body: bytes, status: str = "200 OK", kind: str = "application/json", *headers: str) -> bytes:
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
