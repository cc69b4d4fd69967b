"""A server of images that answers what a test tells it to."""

import socket
import threading
from collections.abc import Callable

import pytest

from pdfjobs.documents import images


def answer(content: bytes, status: str = "200 OK", *, length: int | None = None, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content) if length is None else length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + content


class Server:
    """Answers by path with bytes, or lets a function do it; notes what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[socket.socket], None]] = {}
        self.asked: list[str] = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def address(self, path: str = "/logo.png", *, host: str = "logo.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[channel], daemon=True).start()

    def _answer(self, channel: socket.socket) -> None:
        with channel:
            channel.settimeout(10)
            try:
                path = channel.recv(4096).decode("latin-1").split()[1]
                self.asked.append(path)
                found = self.answers.get(path, answer(b"", "404 Not Found"))
                found(channel) if callable(found) else channel.sendall(found)
            except (OSError, IndexError):  # the client closed the connection
                return


def refusal(address: str) -> str:
    with pytest.raises(images.ImageError) as fault:
        images.data_url(address)
    return str(fault.value)
