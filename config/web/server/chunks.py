"""Chunked bodies, decoded as they arrive; gunicorn's parser judges the lines between the chunks."""

from collections.abc import Iterator
from typing import Any

from gunicorn.http.errors import ChunkMissingTerminator, InvalidChunkSize, LimitRequestHeaders
from gunicorn.http.unreader import IterUnreader

# Of what arrives, at least a third must be content. Chunks of a byte each would occupy the event loop.
MOST_OVERHEAD = 16 * 1024
LEAST_CONTENT = 3


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
            if len(buffer) < 2:  # CR and LF
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
