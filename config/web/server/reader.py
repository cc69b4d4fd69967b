"""Reads one request after the other from a connection, in the event loop; the caller sets the deadlines."""

import asyncio
import random
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import (
    ChunkMissingTerminator,
    InvalidChunkSize,
    LimitRequestHeaders,
    NoMoreData,
    ParseException,
)
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from config.web.server.admission import BodyAdmission, Identify
from config.web.server.limits import MIB, WebLimits
from config.web.server.refusals import RefusalKind, RequestRefused, malformed

# Of what arrives, at least a third must be content. Chunks of a byte each would occupy the event loop.
MOST_OVERHEAD = 16 * 1024
LEAST_CONTENT = 3
END_OF_HEADER = b"\r\n\r\n"
BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
READ_BYTES = 64 * 1024
# A client that sends in small pieces is read less and less often: each read has to wait for Python's lock, and hundreds
# of such clients would slow down the event loop. An ordinary header arrives in one or two pieces.
SMALL_BYTES = 512
SMALL_READS_AT_ONCE = 2
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0  # seconds


class BodyBudget:
    """What the bodies of all connections of a process occupy together."""

    def __init__(self, limits: WebLimits) -> None:
        self.limits = limits
        self.in_memory = 0
        self.total = 0
        self.of_address: Counter[str] = Counter()


class RequestBody:
    """The body of one request while it arrives. Close it when the request has been answered."""

    def __init__(self, budget: BodyBudget, address: str) -> None:
        self._budget, self._address = budget, address
        self._is_in_memory = True
        self.size = 0
        self.file = SpooledTemporaryFile()  # noqa: SIM115 - closed with this body

    def write(self, data: bytes) -> None:
        limits, budget = self._budget.limits, self._budget
        if self.size + len(data) > limits.body_bytes:
            raise RequestRefused(RefusalKind.BODY_TOO_LARGE, limits.body_bytes // MIB)
        if budget.total + len(data) > limits.all_bodies_bytes:
            raise RequestRefused(RefusalKind.NO_ROOM_FOR_BODY)
        # A socket of the file system has no address, and no such limit.
        most = limits.address_bodies_bytes if self._address else 0
        if most and budget.of_address[self._address] + len(data) > most:
            raise RequestRefused(RefusalKind.TOO_MUCH_OF_ADDRESS, most // MIB)
        if self._is_in_memory and (
            self.size + len(data) > limits.body_memory_bytes
            or budget.in_memory + len(data) > limits.all_bodies_memory_bytes
        ):
            self._leave_memory()
            self.file.rollover()
        self.file.write(data)
        self.size += len(data)
        budget.total += len(data)
        budget.of_address[self._address] += len(data)
        if self._is_in_memory:
            budget.in_memory += len(data)

    def close(self) -> None:
        """Free what it occupies; more than once is harmless."""
        if self._is_in_memory:
            self._leave_memory()
        self._budget.total -= self.size
        self._budget.of_address[self._address] -= self.size
        if not self._budget.of_address[self._address]:
            del self._budget.of_address[self._address]
        self.size = 0
        self.file.close()

    def _leave_memory(self) -> None:
        self._is_in_memory = False
        self._budget.in_memory -= self.size


class ChunkDecoder:
    def __init__(self, reader: Any) -> None:
        """Decode what gunicorn's ChunkedReader would read."""
        self._reader = reader
        self._left = 0  # bytes of the current chunk
        self._after_chunk = False
        self._raw = self._content = 0
        self.is_complete = False

    def decode(self, buffer: bytearray) -> Iterator[bytes]:
        """Take from the buffer all that can be decoded, and yield the content. Raises what gunicorn's parser does."""
        before = len(buffer)
        while buffer and not self.is_complete:
            if self._left:
                piece = bytes(buffer[: self._left])
                del buffer[: self._left]
                self._left -= len(piece)
                self._after_chunk = not self._left
                self._content += len(piece)
                yield piece
            elif not self._next_chunk(buffer):
                break
        self._raw += before - len(buffer)
        if self._raw > LEAST_CONTENT * self._content + MOST_OVERHEAD:
            raise InvalidChunkSize(b"too many small chunks")

    def _next_chunk(self, buffer: bytearray) -> bool:
        """Read the line before a chunk, or all that follows the last one; False if it has not arrived completely."""
        if self._after_chunk:
            if not b"\r\n".startswith(bytes(buffer[:2])):
                raise ChunkMissingTerminator(bytes(buffer[:2]))
            if len(buffer) < 2:
                return False
            del buffer[:2]
            self._after_chunk = False
        end = buffer.find(b"\r\n")
        if end < 0:
            if len(buffer) > self._reader.limit_chunk_size_line:
                raise InvalidChunkSize(b"line without an end")
            return False
        end += 2
        size = bytes(buffer[: end - 2]).partition(b";")[0].rstrip(b" \t")
        if size and not size.strip(b"0"):
            end = self._end_of_trailers(buffer, end)
            if end < 0:
                return False
        self._left, _ = self._reader.parse_chunk_size(IterUnreader([]), bytes(buffer[:end]))
        del buffer[:end]
        self.is_complete = not self._left
        return True

    def _end_of_trailers(self, buffer: bytearray, start: int) -> int:
        if buffer[start : start + 2] == b"\r\n":
            return start + 2
        end = buffer.find(b"\r\n\r\n", start)
        if end < 0 and len(buffer) - start > self._reader.limit_chunk_size_line:
            raise LimitRequestHeaders("trailers")
        return end + 4 if end >= 0 else end


class ClientGone(ConnectionError):
    pass


class RequestReader:
    def __init__(
        self,
        sock: socket.socket,
        client: Any,
        *,
        config: Any,
        limits: WebLimits,
        budget: BodyBudget,
        identify: Identify,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock, self._client, self._config = sock, client, config
        self._limits, self._budget, self._identify = limits, budget, identify
        self._address: str = client[0] if isinstance(client, tuple) else ""
        self._buffer = bytearray()
        self._requests = 0
        self._small_reads = 0
        self._received: Callable[[], None] = lambda: None  # extends the deadline of a body

    @property
    def has_data(self) -> bool:
        return bool(self._buffer)

    async def wait_for_data(self) -> None:
        if not self._buffer:
            await self._receive()

    async def read_header(self) -> Request:
        """Return a request without its body; raises RequestRefused."""
        self._small_reads = 0
        while True:
            end = self._buffer.find(END_OF_HEADER)
            if 0 <= end <= self._limits.header_bytes:
                end += len(END_OF_HEADER)
                header = bytes(self._buffer[:end])
                del self._buffer[:end]
                return self._parse(header)
            if self._cannot_be_valid():
                self._parse(bytes(self._buffer))
                raise malformed(LimitRequestHeaders("header"))
            await self._receive()

    async def read_body(self, request: Any) -> RequestBody:
        """Return the body of a request whose header was read; raises RequestRefused."""
        is_chunked = isinstance(request.body.reader, ChunkedReader)
        length = 0 if is_chunked else request.body.reader.length
        admission = BodyAdmission(request, limits=self._limits, identify=self._identify)
        await admission.admit(length)
        body = RequestBody(self._budget, self._address)
        try:
            if is_chunked or length:
                async with self._deadline(body):
                    await self._continue(request)
                    if is_chunked:
                        await self._read_chunks(request, body, admission)
                    else:
                        await self._read_length(length, body)
        except BaseException:
            body.close()
            raise
        body.file.seek(0)
        request.body = body.file
        return body

    async def discard(self, size: int) -> None:
        """Read and forget what the client still sends, until it closes the connection or has sent this much."""
        while size > 0:
            self._buffer.clear()
            await self._receive()
            size -= len(self._buffer)

    def _cannot_be_valid(self) -> bool:
        """Tell whether the parser can reject the beginning of a header already, so that no more of it is read."""
        is_long_line = b"\r\n" not in self._buffer and len(self._buffer) > self._config.limit_request_line + 2
        is_long = len(self._buffer) > self._limits.header_bytes
        return is_long or is_long_line or bool(BARE_LINE_FEED.search(self._buffer))

    def _parse(self, header: bytes) -> Request:
        self._requests += 1
        unreader = IterUnreader([header])
        try:
            request = Request(self._config, unreader, self._client, self._requests)
        except NoMoreData:
            raise malformed(LimitRequestHeaders("header")) from None
        except ParseException as error:
            raise malformed(error) from None
        if unreader.take_buffered():
            raise malformed(ParseException())  # it found another end of the header than we did
        return request

    @asynccontextmanager
    async def _deadline(self, body: RequestBody) -> AsyncIterator[None]:
        """Give up when too little has arrived; the longer a body is, the longer it may take."""
        start = self._loop.time() + self._limits.body_seconds
        try:
            async with asyncio.timeout_at(start) as deadline:
                self._received = lambda: deadline.reschedule(start + body.size / self._limits.least_rate)
                yield
        except TimeoutError:
            raise RequestRefused(RefusalKind.BODY_TOO_SLOW) from None

    async def _continue(self, request: Any) -> None:
        """Tell a client that waits for it (curl, with a long body) to send the body."""
        if request._expected_100_continue:
            request._expected_100_continue = False
            if not self._buffer:
                await self._loop.sock_sendall(self._sock, b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _read_length(self, length: int, body: RequestBody) -> None:
        try:
            while True:
                piece = bytes(self._buffer[: length - body.size])
                del self._buffer[: len(piece)]
                body.write(piece)
                if body.size == length:
                    return
                self._received()
                # The kernel wakes us when this much has arrived, not for every byte of a slow client.
                self._wake_at(min(length - body.size, READ_BYTES))
                await self._receive(paced=False)
        finally:
            self._wake_at(1)

    async def _read_chunks(self, request: Any, body: RequestBody, admission: BodyAdmission) -> None:
        decoder = ChunkDecoder(request.body.reader)
        while True:
            try:
                for piece in decoder.decode(self._buffer):
                    body.write(piece)
            except ParseException as error:
                raise malformed(error) from None
            await admission.admit(body.size)
            if decoder.is_complete:
                break
            self._received()
            await self._receive()
        # Django reads bodies by their length.
        request.headers = [field for field in request.headers if field[0] != "TRANSFER-ENCODING"]
        request.headers.append(("CONTENT-LENGTH", str(body.size)))

    def _wake_at(self, size: int) -> None:
        with suppress(OSError):  # not every kind of socket has it
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

    async def _receive(self, *, paced: bool = True) -> None:
        if paced and self._small_reads > SMALL_READS_AT_ONCE:
            pause = FIRST_PAUSE * 2 ** min(self._small_reads - SMALL_READS_AT_ONCE, 10)
            # By chance, so that clients who send at the same moments are not read at the same moment.
            await asyncio.sleep(min(pause, LONGEST_PAUSE) * random.uniform(0.5, 1.0))  # noqa: S311
        data = await self._loop.sock_recv(self._sock, READ_BYTES)
        if not data:
            raise ClientGone
        self._small_reads = self._small_reads + 1 if len(data) < SMALL_BYTES else 0
        self._buffer += data
