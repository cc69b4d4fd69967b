"""A TCP proxy to the simulator that can drop connections in the middle of a call."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Forwards connections on loopback until they are cut."""

    def __init__(self, target: int, *, port: int = 0) -> None:
        self.target = target
        self.ends: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        ends, self.ends = self.ends, []  # a connection accepted now is kept for the next cut
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # otherwise the waiting `accept` would take one more
        self.listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(("localhost", self.target))
            except OSError:  # the server has stopped
                here.close()
                continue
            self.ends += [here, there]
            for source, sink in ((here, there), (there, here)):
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
