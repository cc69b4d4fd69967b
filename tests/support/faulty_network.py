"""A proxy on loopback between Kilit and PostgreSQL that stops passing bytes on, without closing any connection.

It accepts everything, so TCP sees a healthy peer: only a limit of the client itself ends such a wait.
"""

import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import connection, connections

from kilit.postgres.external.base import DatabaseWrapper

BOTH_WAYS = ("requests", "answers")
Address = tuple[str, int]


class FaultyNetwork:
    def __init__(self, upstream: Address) -> None:
        self.upstream = upstream
        self.swallows: tuple[str, ...] = ()
        self.delay = 0.0  # seconds
        self.accepted = 0
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self, *what: str) -> None:
        """Drop every byte from now on: of `requests`, of `answers`, or of both."""
        self.swallows = what or BOTH_WAYS

    def heal(self) -> None:
        """Pass everything again. What was swallowed is lost, so connections that lost some are cut."""
        self.swallows, self.delay = (), 0.0
        self.cut()

    def cut(self) -> None:
        """Close every connection, as a router does that restarts."""
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), connect_to(self.upstream) as server, selectors.DefaultSelector() as selector:
            self._open |= {client, server}
            selector.register(client, selectors.EVENT_READ, ("requests", server))
            selector.register(server, selectors.EVENT_READ, ("answers", client))
            while True:
                for key, _ in selector.select():
                    kind, target = key.data
                    message = key.fileobj.recv(65536)  # type: ignore[union-attr]
                    if not message:
                        return
                    time.sleep(self.delay)
                    if kind not in self.swallows:
                        target.sendall(message)


def server_address() -> Address:
    """Return where the server of the test database listens: a host or the folder of its socket, and a port."""
    direct = connection.get_connection_params()
    return str(direct.get("host") or "localhost"), int(direct.get("port") or 5432)


def connect_to(address: Address) -> socket.socket:
    host, port = address
    if not host.startswith("/"):
        return socket.create_connection(address)
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{host}/.s.PGSQL.{port}")
    return server


@contextmanager
def faulty_network() -> Iterator[FaultyNetwork]:
    """Run a proxy in front of the test database."""
    network = FaultyNetwork(server_address())
    try:
        yield network
    finally:
        network.close()


@contextmanager
def connected_through(*ports: int) -> Iterator[DatabaseWrapper]:
    """Let this thread's connection pass through the proxy on a port; with several, try one after the other."""
    hosts, listening = ",".join("127.0.0.1" for _ in ports), ",".join(map(str, ports))
    with connected_to(HOST=hosts, PORT=listening, USER=connection.get_connection_params()["user"]) as through:
        yield through


@contextmanager
def connected_to(**address: str) -> Iterator[DatabaseWrapper]:
    """Let this thread's connection go to another address."""
    before = connections["default"]
    through = DatabaseWrapper({**before.settings_dict, "ENGINE": "kilit.postgres.external", **address}, "default")
    connections["default"] = through
    try:
        yield through
    finally:
        through.close()
        connections["default"] = before
