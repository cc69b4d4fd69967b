"""A relay on loopback: forwards connections to a server, and can disconnect all of them."""

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class Relay:
    def __init__(self, connect: Callable[[], socket.socket], *, port: int = 0) -> None:
        self.connect, self.accepted = connect, 0
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def disconnect(self) -> None:
        """Close every connection, as a router does that restarts."""
        for end in list(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # otherwise the waiting `accept` would take one more
        self._listener.close()
        self.disconnect()

    def pass_on(self, message: bytes, source: socket.socket, target: socket.socket, *, is_request: bool) -> bool:
        """Forward some bytes; return whether the connection stays open."""
        target.sendall(message)
        return True

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), self.connect() as server, selectors.DefaultSelector() as selector:
            ends = {client, server}
            self._open |= ends
            for source, target in ((client, server), (server, client)):
                selector.register(source, selectors.EVENT_READ, (source, target))
            try:
                while self._forward(selector, client):
                    pass
            finally:
                self._open -= ends

    def _forward(self, selector: selectors.BaseSelector, client: socket.socket) -> bool:
        for key, _ in selector.select():
            source, target = key.data
            message = source.recv(65536)
            if not (message and self.pass_on(message, source, target, is_request=source is client)):
                return False
        return True
