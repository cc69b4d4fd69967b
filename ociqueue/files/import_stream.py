"""The uploaded file of an import: stored in parts, and read as a stream, one part at a time."""

import io
from collections.abc import Iterator
from typing import IO

from ociqueue.models import ImportChunk, ImportJob

CHUNK = 1 << 20


def keep_file(job: ImportJob, file: IO[bytes]) -> None:
    """Store a file in parts."""
    file.seek(0)
    for number, content in enumerate(_parts(file)):
        ImportChunk.objects.create(job=job, number=number, content=content)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    while content := file.read(CHUNK):
        yield content


def open_file(job: ImportJob) -> IO[bytes]:
    return io.BufferedReader(ChunkReader(job), buffer_size=CHUNK)


class ChunkReader(io.RawIOBase):
    """Reads the parts of a file; it holds one of them."""

    def __init__(self, job: ImportJob) -> None:
        self._job, self._position = job, 0
        self._number, self._content = -1, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._job.size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: "bytearray | memoryview[int]") -> int:  # type: ignore[override]
        number, start = divmod(self._position, CHUNK)
        content = self._chunk(number)[start : start + len(buffer)]
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)

    def _chunk(self, number: int) -> bytes:
        if number != self._number and number * CHUNK < self._job.size:
            content = ImportChunk.objects.values_list("content", flat=True).get(job=self._job, number=number)
            self._number, self._content = number, bytes(content)
        return self._content if number == self._number else b""
