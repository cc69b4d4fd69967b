"""One connection: reads requests, hands each to a thread when it is complete, and sends the answers."""

import asyncio
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from tempfile import SpooledTemporaryFile
from typing import Any, Never

from config.web.server.limits import WebLimits
from config.web.server.reader import ClientGone, RequestReader
from config.web.server.refusals import UNREAD, RefusalKind, RequestRefused

PIECE_BYTES = 64 * 1024
SEGMENT_BYTES = 8 * 1024**2  # what was sent of a long answer is deleted in parts of this size
# After the last answer the connection stays readable for a moment: closing it at once, while the client still sends,
# would make the kernel discard an answer that the client has not read.
LINGER_SECONDS = 2.0

Run = Callable[[Any, "WebConnection"], Awaitable[bool]]


class AnswerBuffer:
    """Stands in for the socket in the thread that runs Django. One for each answer.

    A client that reads slowly occupies a thread only if its answer is larger than `answer_bytes`; then, the client must
    keep to `thread_rate`.
    """

    def __init__(self, sock: socket.socket, limits: WebLimits) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock, self._limits = sock, limits
        self._changed = threading.Condition()
        # From here on: what thread and event loop share, under the condition's lock.
        self._segments: deque[SpooledTemporaryFile[bytes]] = deque()  # the last is written, the first is sent
        self._position = 0  # in the first
        self._waiting = self._sent = 0  # bytes
        self._waited = 0.0  # seconds that the thread waited for the client
        self._sender: asyncio.Task[None] | None = None
        self._is_sending = False  # by the event loop: the thread must not overtake it
        self.is_lost = False
        self.has_begun = False

    # Called by the thread, as methods of a socket: gunicorn's Response writes to it.

    def sendall(self, data: bytes) -> None:
        with self._changed:
            self._check()
            self.has_begun = True
            if not self._is_sending:
                data = data[self._try_to_send(data) :]
            if not data:
                return
            self._append(data)
            if not self._is_sending:
                self._is_sending = True
                self._loop.call_soon_threadsafe(self._start_sending)
            self._wait_for_room()

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def shutdown(self, how: int) -> Never:
        raise OSError("the event loop closes connections")

    def close(self) -> None:
        """Break off an answer that cannot be completed: the client must not take it for a complete one."""
        with self._changed:
            self.is_lost = True

    def _try_to_send(self, data: bytes) -> int:
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            return 0
        self._sent += sent
        return sent

    def _append(self, data: bytes) -> None:
        if not self._segments or self._segments[-1].seek(0, os.SEEK_END) >= SEGMENT_BYTES:
            segment = SpooledTemporaryFile(max_size=self._limits.answer_memory_bytes)  # noqa: SIM115 - closed when sent
            self._segments.append(segment)
        self._segments[-1].seek(0, os.SEEK_END)
        self._segments[-1].write(data)
        self._waiting += len(data)

    def _wait_for_room(self) -> None:
        while self._waiting > self._limits.answer_bytes and not self.is_lost:
            start = time.monotonic()
            self._changed.wait(timeout=1.0)
            self._waited += time.monotonic() - start
            if self._waited > self._limits.send_seconds + self._sent / self._limits.thread_rate:
                self.is_lost = True
        self._check()

    def _check(self) -> None:
        if self.is_lost:
            raise BrokenPipeError("the client does not take its answer")

    # Called by the event loop.

    async def finish(self) -> bool:
        """Send what is left; False if the client did not take it. The thread has ended before."""
        try:
            if self._sender:
                await self._sender
            return not self.is_lost
        finally:
            self.discard()

    def discard(self) -> None:
        if self._sender:
            self._sender.cancel()
        with self._changed:
            self.is_lost = True
            while self._segments:
                self._segments.popleft().close()
            self._changed.notify_all()

    def _start_sending(self) -> None:
        if not self._sender or self._sender.done():
            self._sender = self._loop.create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        start = self._loop.time() + self._limits.send_seconds
        sent = 0
        try:
            while piece := self._next_piece():
                sent += len(piece)
                async with asyncio.timeout_at(start + sent / self._limits.least_rate):
                    await self._loop.sock_sendall(self._sock, piece)
                with self._changed:
                    self._position += len(piece)
                    self._waiting -= len(piece)
                    self._sent += len(piece)
                    self._changed.notify_all()
        except (OSError, TimeoutError):
            with self._changed:
                self.is_lost = True
                self._changed.notify_all()

    def _next_piece(self) -> bytes:
        with self._changed:
            while self._segments and not self.is_lost:
                self._segments[0].seek(self._position)
                if piece := self._segments[0].read(PIECE_BYTES):
                    return piece
                self._segments.popleft().close()
                self._position = 0
            self._is_sending = False
            return b""


class Phase(Enum):
    IDLE = "the next request"
    HEADER = "the rest of a header"
    BODY = "the rest of a body"
    WORK = "a thread"
    ANSWER = "the client to read its answer"
    END = "the client to close the connection"


class WebConnection:
    def __init__(
        self, sock: socket.socket, *, client: object, server: object, reader: RequestReader, limits: WebLimits
    ) -> None:
        # gunicorn's names: its ThreadWorker.handle_request uses the first three.
        self.client, self.server = client, server
        self.sock = AnswerBuffer(sock, limits)
        self.address: str = client[0] if isinstance(client, tuple) else ""
        self.waiting_since: float | None = None  # None while a thread works for it
        self.phase = Phase.HEADER
        self.task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._socket, self._reader, self._limits = sock, reader, limits

    async def serve(self, run: Run) -> RequestRefused | None:
        """Answer requests until the connection ends; return why, if it was refused."""
        try:
            await self._serve_requests(run)
        except RequestRefused as refusal:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._limits.send_seconds):
                    await self._loop.sock_sendall(self._socket, refusal.answer())
                await self._linger(refusal.unread)
            return refusal
        except (OSError, TimeoutError):
            pass  # the client is gone, or was silent between two requests
        finally:
            self.sock.discard()
            self._socket.close()
        return None

    def break_off(self, refusal: RequestRefused) -> None:
        """Close it, because its place is needed; with an answer if a request was being received."""
        if self.phase in {Phase.HEADER, Phase.BODY}:
            with suppress(OSError):
                self._socket.send(refusal.answer())
        self.waiting_since = None
        if self.task:
            self.task.cancel()

    async def _serve_requests(self, run: Run) -> None:
        is_open = True
        while is_open:
            request = await self._read_header()
            self._wait_for(Phase.BODY)
            body = await self._reader.read_body(request)
            try:
                self._wait_for(Phase.WORK)
                is_open = await run(request, self)
            finally:
                body.close()
            self._wait_for(Phase.ANSWER)
            if not await self.sock.finish():
                return
            self.sock = AnswerBuffer(self._socket, self._limits)
            if is_open and not self._reader.has_data:
                self._wait_for(Phase.IDLE)
                async with asyncio.timeout(self._limits.idle_seconds):
                    await self._reader.wait_for_data()
        await self._linger()

    async def _read_header(self) -> object:
        self._wait_for(Phase.HEADER)
        try:
            async with asyncio.timeout(self._limits.header_seconds):
                return await self._reader.read_header()
        except TimeoutError:
            raise RequestRefused(RefusalKind.HEADER_TOO_SLOW, self._limits.header_seconds) from None

    async def _linger(self, unread: int = UNREAD) -> None:
        self._wait_for(Phase.END)
        self._socket.shutdown(socket.SHUT_WR)
        with suppress(ClientGone):
            async with asyncio.timeout(LINGER_SECONDS):
                await self._reader.discard(unread)

    def _wait_for(self, phase: Phase) -> None:
        self.phase = phase
        self.waiting_since = None if phase is Phase.WORK else self._loop.time()
