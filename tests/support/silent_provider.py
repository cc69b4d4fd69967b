"""A server on loopback that accepts every connection and never answers, or answers by a byte now and then."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BYTES_EVERY = 0.02  # seconds


class SilentProvider:
    """`connections` are all that it has accepted; `end` closes them."""

    def __init__(self, answer: bytes = b"") -> None:
        self.answer = answer  # what it sends, byte by byte
        self.connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def end(self) -> None:
        self._stop.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while not self._stop.is_set():
            with suppress(OSError):
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                if self.answer:
                    trickle = threading.Thread(target=self._trickle, args=[connection], daemon=True)
                    trickle.start()
                    self._threads.append(trickle)

    def _trickle(self, connection: socket.socket) -> None:
        with suppress(OSError):
            for byte in self.answer:
                if self._stop.wait(BYTES_EVERY):
                    return
                connection.send(bytes([byte]))
            connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def silent_provider(answer: bytes = b"") -> Iterator[SilentProvider]:
    provider = SilentProvider(answer)
    try:
        yield provider
    finally:
        provider.end()
