"""One connection: reads requests, hands each to a thread when it is complete, and sends the answers."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from typing import Any

from config.web.server.answers import AnswerBuffer
from config.web.server.limits import WebLimits
from config.web.server.reading import ClientGone, RequestReader
from config.web.server.refusals import UNREAD, RequestRefused, header_too_slow

# After the last answer the connection stays readable for a moment: closing it at once, while the client still sends,
# would make the kernel discard an answer that the client has not read.
LINGER_SECONDS = 2.0

Run = Callable[[Any, "WebConnection"], Awaitable[bool]]


class Phase(Enum):
    """What a connection is waiting for."""

    IDLE = "the next request"
    HEADER = "the rest of a header"
    BODY = "the rest of a body"
    WORK = "a thread"
    ANSWER = "the client to read its answer"
    END = "the client to close the connection"


class WebConnection:
    def __init__(
        self, sock: socket.socket, *, client: Any, server: Any, reader: RequestReader, limits: WebLimits
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

    async def _read_header(self) -> Any:
        self._wait_for(Phase.HEADER)
        try:
            async with asyncio.timeout(self._limits.header_seconds):
                return await self._reader.read_header()
        except TimeoutError:
            raise header_too_slow(self._limits.header_seconds) from None

    async def _linger(self, unread: int = UNREAD) -> None:
        self._wait_for(Phase.END)
        self._socket.shutdown(socket.SHUT_WR)
        with suppress(ClientGone):
            async with asyncio.timeout(LINGER_SECONDS):
                await self._reader.discard(unread)

    def _wait_for(self, phase: Phase) -> None:
        self.phase = phase
        self.waiting_since = None if phase is Phase.WORK else self._loop.time()
