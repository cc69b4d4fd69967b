"""gunicorn's threaded worker, which serves all connections that the kernel has accepted before it stops listening."""

from collections.abc import Callable
from typing import Any

from gunicorn.workers.gthread import ThreadWorker


class LastCallWorker(ThreadWorker):
    """gunicorn stops accepting, and closes its socket when it ends: what arrives in between is reset, read by nobody.

    Where no other process holds the socket, as in a container, that would be a request that fails.
    """

    wsgi: Callable[..., object]

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application = self.wsgi

        def close_after_413(environ: dict[str, Any], start_response: Callable[..., object]) -> object:
            """Say that the connection ends: nobody reads the rest of a body that was refused."""

            def start(status: str, *rest: Any) -> object:
                if status.startswith("413"):
                    start_response.__self__.force_close()  # type: ignore[attr-defined]
                return start_response(status, *rest)

            return application(environ, start)

        self.wsgi = close_after_413

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if self.alive or enabled:
            return
        for listener in self.sockets:
            connections = -1
            while connections != self.nr_conns:
                connections = self.nr_conns
                self.accept(listener)
            listener.close()
