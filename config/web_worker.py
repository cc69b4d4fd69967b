"""gunicorn's threaded worker, with a thread of its own for /healthz: it answers also while all others wait."""

import selectors
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from gunicorn.workers.gthread import TConn, ThreadWorker

LIVENESS = (b"GET /healthz", b"HEAD /healthz")
FIRST_BYTES_WITHIN = 5.0  # seconds


class WebWorker(ThreadWorker):  # type: ignore[misc]
    """Looks at the first bytes of a request before a thread takes it; the main loop, which does, never waits."""

    def init_process(self) -> None:
        self.liveness_pool = ThreadPoolExecutor(max_workers=1)
        super().init_process()

    def enqueue_req(self, conn: TConn) -> None:
        beginning = self._peek(conn)
        if beginning is None and not conn.data_ready and not conn.initialized:
            self._wait_for_data(conn)
            return
        pool = self.liveness_pool if (beginning or b"").startswith(LIVENESS) else self.tpool
        task = pool.submit(self.handle, conn)
        task.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def _peek(self, conn: TConn) -> bytes | None:
        """Return the first bytes of a request, or None if none has arrived."""
        try:
            found: bytes = conn.sock.recv(max(map(len, LIVENESS)), socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except (OSError, ValueError):  # closed, or encrypted: for the thread to judge
            return b""
        return found

    def _wait_for_data(self, conn: TConn) -> None:
        """Let the main loop wait for a connection's first bytes, as it does for those of the next request."""
        conn.sock.setblocking(False)  # noqa: FBT003 - of the standard library
        conn.timeout = time.monotonic() + FIRST_BYTES_WITHIN
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))
