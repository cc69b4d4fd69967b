"""A proxy on loopback between Kilit and PostgreSQL that stops passing bytes on, without closing any connection.

It accepts everything, so TCP sees a healthy peer: only a limit of the client itself ends such a wait.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.db import connection, connections

from kilit.postgres.external.base import DatabaseWrapper
from simulators.relay import Relay

BOTH_WAYS = ("requests", "answers")
Address = tuple[str, int]


class FaultyNetwork(Relay):
    def __init__(self, upstream: Address) -> None:
        self.swallows: tuple[str, ...] = ()
        self.delay = 0.0  # seconds
        super().__init__(partial(connect_to, upstream))

    def swallow(self, *what: str) -> None:
        """Drop every byte from now on: of `requests`, of `answers`, or of both."""
        self.swallows = what or BOTH_WAYS

    def heal(self) -> None:
        """Pass everything again. What was swallowed is lost, so connections that lost some are cut."""
        self.swallows, self.delay = (), 0.0
        self.disconnect()

    def pass_on(self, message: bytes, source: socket.socket, target: socket.socket, *, is_request: bool) -> bool:
        time.sleep(self.delay)
        if ("requests" if is_request else "answers") in self.swallows:
            return True
        return super().pass_on(message, source, target, is_request=is_request)


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
