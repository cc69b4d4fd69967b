"""Passes bytes between two sockets, perhaps of different network namespaces; a relay can be cut, like a cable."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

SIZE = 65536
# As a database server should have it (tcp_keepalives_idle and its kin): a client that is gone is noticed after seconds.
KEEPALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3, socket.TCP_USER_TIMEOUT: 25_000}


class Relay:
    """Passes bytes between each client of a listening socket and a connection of its own, made by `connect`."""

    def __init__(self, listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
        """Begin at once; threads end with the process."""
        self.listener, self.connect = listener, connect
        self.passing = threading.Event()
        self.passing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Pass nothing any more, and refuse nothing: who sends something hears nothing."""
        self.passing.clear()

    def join(self) -> None:
        """Pass everything again, also what was sent meanwhile: TCP would send it again."""
        self.passing.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            near.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEEPALIVE.items():
                near.setsockopt(socket.IPPROTO_TCP, option, value)
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self.passing.wait()
        try:
            far = self.connect()
        except OSError:
            near.close()
            return
        with near, far:
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far)
            back.join()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(SIZE):
                self.passing.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def listen(address: str, port: int) -> socket.socket:
    """Return a listening socket."""
    return socket.create_server((address, port), backlog=64)


def reach(address: str, port: int) -> Callable[[], socket.socket]:
    """Return what connects to an address."""
    return lambda: socket.create_connection((address, port))


def reach_socket(path: str) -> Callable[[], socket.socket]:
    """Return what connects to a socket in the file system."""

    def connect() -> socket.socket:
        found = socket.socket(socket.AF_UNIX)
        found.connect(path)
        return found

    return connect
