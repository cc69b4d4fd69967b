"""A connection to a checked address, with one deadline for connecting, TLS, sending and receiving."""

import http.client
import io
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, cast

from kilit.outgoing.addresses import Deadline, is_public, resolve

PORT = 80
PIECE = 16_384  # bytes; TLS would start its timeout again for each part of a larger write


class PinnedSocket:
    """A socket for `http.client`: before each read and write its timeout is set to what is left of the deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self.socket, self.deadline = connected, deadline
        self.unsent = b""

    def handshake(self) -> None:
        """Begin TLS and check that the certificate is valid for the host's name; without TLS there is nothing to do."""
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.settimeout(self.deadline.left())
            self.socket.do_handshake()

    def sendall(self, data: bytes) -> None:
        """Keep what is written until the response is read: `http.client` writes headers and body separately."""
        self.unsent += data

    def makefile(self, _mode: str) -> io.BufferedReader:
        data, self.unsent = self.unsent, b""
        for start in range(0, len(data), PIECE):
            self.socket.settimeout(self.deadline.left())
            self.socket.sendall(data[start : start + PIECE])
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Do nothing: `http.client` closes its socket before it has read the response. The owner disconnects."""

    def disconnect(self) -> None:
        with suppress(OSError):
            self.socket.close()


class _Reader(io.RawIOBase):
    def __init__(self, pinned: PinnedSocket) -> None:
        self.pinned = pinned

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.pinned.socket.settimeout(self.pinned.deadline.left())
        return self.pinned.socket.recv_into(buffer)


def open_socket(
    host: str, port: int, *, tls: bool, deadline: Deadline, is_allowed: Callable[[str], bool] = is_public
) -> PinnedSocket:
    """Connect to the first address of a host that answers; with TLS, `handshake` then checks its certificate."""
    host.encode("idna")  # TLS cannot send such a name, so do not connect
    addresses = resolve(host, port, deadline=deadline, is_allowed=is_allowed)
    connected = _connect(addresses, port, deadline)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            connected = tls_context().wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
    except BaseException:
        connected.close()
        raise
    return PinnedSocket(connected, deadline)


def http_connection(host: str, pinned: PinnedSocket) -> http.client.HTTPConnection:
    """Speak HTTP over the socket only: by itself `http.client` would connect again, to an unchecked address."""
    # With a port, or it would look for one in an IPv6 address. Neither is used: the socket is connected.
    connection = http.client.HTTPConnection(host, PORT)
    connection.auto_open = 0
    connection.sock = cast("socket.socket", pinned)
    return connection


@cache
def tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connect(addresses: list[str], port: int, deadline: Deadline) -> socket.socket:
    *others, last = addresses
    for address in others:
        # Half of what is left for each, so that an address that never answers leaves time for the next.
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=deadline.left() / 2)
    return socket.create_connection((last, port), timeout=deadline.left())
