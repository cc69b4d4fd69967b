"""gunicorn's threaded worker, which serves all connections that the kernel has accepted before it stops listening."""

from gunicorn.workers.gthread import ThreadWorker


class LastCallWorker(ThreadWorker):
    """gunicorn stops accepting, and closes its socket when it ends: what arrives in between is reset, read by nobody.

    Where no other process holds the socket, as in a container, that would be a request that fails.
    """

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
