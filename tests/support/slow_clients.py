"""Clients that send half a request and then a byte a second, each on a connection of its own, until it is closed."""

import selectors
import socket
import ssl
import sys
import threading
import time
from contextlib import suppress
from typing import Self

ADDRESS = "127.0.0.2"  # another one than that of honest clients

TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE

HEADER = b"GET /api/oci/conversions HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /api/oci/conversions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class SlowClients:
    """Hundreds of them in one thread. With `again`, those that were closed connect again a second later.

    The key should be valid: without one, a server may refuse a body before it is slow.
    """

    def __init__(
        self, port: int, *, headers: int, bodies: int = 0, key: str = "", again: bool = False, tls: bool = False
    ) -> None:
        self._port, self._again, self._tls = port, again, tls
        slow_body = BODY + f"X-Api-Key: {key}\r\nContent-Length: 100000\r\n\r\n".encode() + b"{"
        self._beginnings = [HEADER] * headers + [slow_body] * bodies
        self._open: dict[socket.socket, bytes] = {}
        self._closed: list[bytes] = []
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
                    while self._again and self._closed:
                        self._connect(self._closed.pop(), selector)
                    for client in self._open:
                        with suppress(OSError):
                            client.send(b"a")
                for key, _ in selector.select(timeout=0.1):
                    assert isinstance(key.fileobj, socket.socket)
                    self._read(key.fileobj, selector)
            for client in self._open:
                client.close()

    def _connect(self, beginning: bytes, selector: selectors.BaseSelector) -> None:
        client = socket.create_connection(("127.0.0.1", self._port), source_address=(ADDRESS, 0))
        try:
            client = TRUSTING.wrap_socket(client, server_hostname="localhost") if self._tls else client
        except OSError:
            self._closed.append(beginning)
            return
        client.setblocking(False)  # noqa: FBT003 - of the standard library
        with suppress(OSError):
            client.send(beginning)
        self._open[client] = beginning
        selector.register(client, selectors.EVENT_READ)

    def _read(self, client: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            data = client.recv(65536)
        except ssl.SSLWantReadError:  # a part of a record
            return
        except OSError:
            data = b""
        if data:
            self.answers.append(data.partition(b"\r\n")[0])
            return
        selector.unregister(client)
        self._closed.append(self._open.pop(client))
        client.close()


def main() -> None:
    """Run in a process of its own until its input ends: `… tests.support.slow_clients PORT HEADERS BODIES TLS KEY`."""
    port, headers, bodies, tls = map(int, sys.argv[1:5])
    with SlowClients(port, headers=headers, bodies=bodies, tls=bool(tls), key=sys.argv[5], again=True):
        sys.stdout.write("connected\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
