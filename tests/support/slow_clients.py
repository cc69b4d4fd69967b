"""Clients that send half a request and then a byte a second, each on a connection of its own, until it is closed."""

import selectors
import socket
import threading
import time
from contextlib import suppress
from typing import Self

HEADER = b"GET /api/oci/conversions HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /api/oci/conversions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class SlowClients:
    """Hundreds of them in one thread. With `again`, a client whose connection was closed opens a new one."""

    def __init__(self, port: int, *, headers: int, bodies: int = 0, key: str = "", again: bool = False) -> None:
        self._port, self._again = port, again
        slow_body = BODY + f"X-Api-Key: {key}\r\nContent-Length: 100000\r\n\r\n".encode() + b"{"
        self._beginnings = [HEADER] * headers + [slow_body] * bodies
        self._open: dict[socket.socket, bytes] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answers: list[bytes] = []  # the first line of what each closed connection got
        self.connected = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self.connected.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def still_open(self) -> int:
        return len(self._open)

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for beginning in self._beginnings:
                self._connect(beginning, selector)
            self.connected.set()
            next_byte = time.monotonic()
            while not self._end.is_set():
                if time.monotonic() >= next_byte:
                    next_byte += 1
                    for client in self._open:
                        with suppress(OSError):
                            client.send(b"a")
                for key, _ in selector.select(timeout=0.1):
                    self._read(key.fileobj, selector)
            for client in self._open:
                client.close()

    def _connect(self, beginning: bytes, selector: selectors.BaseSelector) -> None:
        client = socket.create_connection(("127.0.0.1", self._port))
        client.setblocking(False)  # noqa: FBT003 - of the standard library
        with suppress(OSError):
            client.send(beginning)
        self._open[client] = beginning
        selector.register(client, selectors.EVENT_READ)

    def _read(self, client: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            data = client.recv(65536)
        except OSError:
            data = b""
        if data:
            self.answers.append(data.partition(b"\r\n")[0])
            return
        selector.unregister(client)
        beginning = self._open.pop(client)
        client.close()
        if self._again:
            self._connect(beginning, selector)
