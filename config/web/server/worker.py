"""gunicorn's worker: the event loop of a web process, and its threads."""

import asyncio
import errno
import logging
import signal
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import Error, close_old_connections
from django.http import HttpRequest
from gunicorn.workers.base import Worker
from gunicorn.workers.gthread import ThreadWorker

from config.web.server.admission import Caller, RequestCredentials
from config.web.server.connection import Phase, WebConnection
from config.web.server.limits import KIB, MIB, WebLimits
from config.web.server.reader import BodyBudget, RequestReader
from config.web.server.refusals import RefusalKind, RequestRefused

logger = logging.getLogger(__name__)

LIVENESS = "/healthz"
PAUSE_WHEN_FULL = 0.1  # seconds
HEADER_GRACE = 2.0  # seconds for a header that has begun when the server stops
REPORT_EVERY = 60  # seconds
OUT_OF_FILES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class ConnectionTable:
    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits
        self._by_address: defaultdict[Hashable, set[WebConnection]] = defaultdict(set)
        self._size = 0

    def __iter__(self) -> "Iterator[WebConnection]":
        return iter([connection for connections in self._by_address.values() for connection in connections])

    def __len__(self) -> int:
        return self._size

    def make_room(self) -> bool:
        """Close a connection if a new one needs its place; False if threads work for all of them."""
        return self._size < self._limits.connections or self.close_oldest()

    def make_room_for(self, address: str) -> bool:
        """Likewise, if this address has too many; a socket of the file system has no address, and no limit."""
        limit = self._limits.connections_per_address
        if not (limit and address) or len(self._by_address.get(address, ())) < limit:
            return True
        return self._close_one_of(address, RefusalKind.TOO_MANY_OF_ADDRESS)

    def close_oldest(self) -> bool:
        """Close a connection of the address that has most of those that wait for their client."""
        waiting = {address: sum(map(_is_waiting, connections)) for address, connections in self._by_address.items()}
        most = max(waiting, key=waiting.__getitem__, default=None)
        return most is not None and self._close_one_of(most, RefusalKind.TOO_MANY)

    def add(self, connection: "WebConnection") -> None:
        self._by_address[connection.address].add(connection)
        self._size += 1

    def remove(self, connection: "WebConnection") -> None:
        connections = self._by_address[connection.address]
        if connection in connections:
            connections.remove(connection)
            self._size -= 1
        if not connections:
            del self._by_address[connection.address]

    def _close_one_of(self, address: Hashable, why: RefusalKind) -> bool:
        waiting = [connection for connection in self._by_address[address] if _is_waiting(connection)]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda connection: connection.waiting_since or 0.0)
        oldest.break_off(RequestRefused(why))
        self.remove(oldest)
        return True


def _is_waiting(connection: "WebConnection") -> bool:
    return connection.waiting_since is not None


class WebWorker(ThreadWorker):
    """gunicorn's threaded worker, whose threads get complete requests only.

    Of ThreadWorker it uses `handle_request`, which calls the application; the event loop is its own.
    """

    def __init__(self, *args: object, limits: WebLimits | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits or replace(settings_limits(), connections=self.worker_connections)
        self.limits = replace(self.limits, idle_seconds=self.cfg.keepalive)
        self.connections = ConnectionTable(self.limits)
        self.budget = BodyBudget(self.limits)
        self.refusals: Counter[str] = Counter()
        self.stopping = asyncio.Event()

    @classmethod
    def check_config(cls, cfg: Any, log: object) -> None:  # noqa: ARG003 - of gunicorn
        if cfg.is_ssl:
            raise RuntimeError("The web server speaks HTTP only. Encrypt in a proxy in front of it.")

    def init_process(self) -> None:
        self.tpool = self.get_thread_pool()
        self.liveness_pool = ThreadPoolExecutor(max_workers=1)
        Worker.init_process(self)  # without ThreadWorker's event loop

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stop)
        await self.serve()

    def handle_exit(self, sig: int, frame: object) -> None:
        self.stop()  # before the event loop runs

    def stop(self) -> None:
        self.alive = False
        self.stopping.set()

    async def serve(self) -> None:
        """Serve until the process is to stop, and then until all requests that have begun are answered."""
        self.loop = asyncio.get_running_loop()
        self._accept(wanted=True)
        seconds = 0
        while self.alive and self.is_parent_alive():
            self.notify()
            seconds += 1
            if seconds % REPORT_EVERY == 0:
                self._report()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), timeout=1.0)
        self.alive = False  # answers say that the connection will be closed
        self._accept(wanted=False)
        await self._finish()
        self._report()
        for pool in (self.tpool, self.liveness_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _finish(self) -> None:
        self._break_off(Phase.IDLE, Phase.END)
        self.loop.call_later(HEADER_GRACE, self._break_off, Phase.IDLE, Phase.HEADER, Phase.END)
        end = self.loop.time() + self.cfg.graceful_timeout
        while tasks := [each.task for each in self.connections if each.task]:
            if self.loop.time() > end:
                break
            self.notify()
            await asyncio.wait(tasks, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)

    def _break_off(self, *phases: Phase) -> None:
        for connection in self.connections:
            if connection.phase in phases:
                connection.break_off(RequestRefused(RefusalKind.STOPPING))

    def _accept(self, *, wanted: bool) -> None:
        for listener in self.sockets:
            if wanted and self.alive:
                listener.setblocking(False)  # noqa: FBT003 - of the standard library
                self.loop.add_reader(listener.fileno(), self._accept_one, listener)
            else:
                self.loop.remove_reader(listener.fileno())

    def _accept_one(self, listener: Any) -> None:
        """Accept one connection at a time, so that all web processes get their share."""
        if not self.connections.make_room():
            self._pause_accepting()
            return
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in OUT_OF_FILES:
                self.connections.close_oldest()
                self._pause_accepting()
            return
        if not self.connections.make_room_for(client[0] if isinstance(client, tuple) else ""):
            with suppress(OSError):
                sock.send(RequestRefused(RefusalKind.TOO_MANY_OF_ADDRESS).answer())
            sock.close()
            return
        sock.setblocking(False)  # noqa: FBT003 - of the standard library
        reader = RequestReader(
            sock, client, config=self.cfg, limits=self.limits, budget=self.budget, identify=self._identify
        )
        connection = WebConnection(
            sock, client=client, server=listener.getsockname(), reader=reader, limits=self.limits
        )
        connection.task = self.loop.create_task(self._serve_connection(connection))
        self.connections.add(connection)

    def _pause_accepting(self) -> None:
        self._accept(wanted=False)
        self.loop.call_later(PAUSE_WHEN_FULL, lambda: self._accept(wanted=True))

    async def _serve_connection(self, connection: WebConnection) -> None:
        try:
            if refusal := await connection.serve(self._run_in_thread):
                self.refusals[refusal.code] += 1
        finally:
            self.connections.remove(connection)

    async def _identify(self, credentials: RequestCredentials) -> Caller:
        try:
            return await self.loop.run_in_executor(self.tpool, self.identify, credentials)
        except Error:
            raise RequestRefused(RefusalKind.DATABASE_AWAY) from None

    def identify(self, credentials: RequestCredentials) -> Caller:
        from config.web.server.callers import identify  # gunicorn imports this module before Django has its models

        close_old_connections()  # as before and after a request
        try:
            return identify(credentials)
        finally:
            close_old_connections()

    async def _run_in_thread(self, request: HttpRequest, connection: WebConnection) -> bool:
        pool = self.liveness_pool if request.path == LIVENESS else self.tpool
        return await self.loop.run_in_executor(pool, self._handle, request, connection)

    def _handle(self, request: HttpRequest, connection: WebConnection) -> bool:
        """Run the application in a thread; return whether the connection stays open."""
        try:
            return bool(self.handle_request(request, connection))
        except OSError:
            return False  # the client is gone
        except Exception:  # as gunicorn does: the thread has to survive
            self.log.exception("Error handling request %s %s", request.method, request.path)
            with suppress(OSError):
                if not connection.sock.has_begun:
                    connection.sock.sendall(RequestRefused(RefusalKind.INTERNAL).answer())
            return False

    def _report(self) -> None:
        """Log how many requests never reached Django, once a minute: under attack there are thousands."""
        if self.refusals:
            logger.warning("requests refused by the web server", extra={"refused": dict(self.refusals)})
            self.refusals.clear()


def settings_limits() -> WebLimits:
    return WebLimits(
        header_seconds=settings.HEADER_SECONDS,
        body_seconds=settings.BODY_SECONDS,
        # Behind a proxy all connections come from its address.
        connections_per_address=0 if settings.PROXIES else settings.CONNECTIONS_PER_ADDRESS,
        unknown_bytes=settings.UNKNOWN_BODY_KB * KIB,
        all_bodies_bytes=settings.ALL_BODIES_MB * MIB,
        address_bodies_bytes=0 if settings.PROXIES else settings.ADDRESS_BODIES_MB * MIB,
    )
