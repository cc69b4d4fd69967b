"""Answers on their way to clients. A thread writes as fast as it can; the event loop sends what does not go at once."""

import asyncio
import os
import socket
import threading
import time
from collections import deque
from tempfile import SpooledTemporaryFile
from typing import Never

from config.web.server.limits import WebLimits

PIECE_BYTES = 64 * 1024
SEGMENT_BYTES = 8 * 1024**2  # what was sent of a long answer is deleted in parts of this size


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
