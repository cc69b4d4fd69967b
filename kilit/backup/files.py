"""The files that are backed up together with their rows; the app that stores them provides access."""

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple, Protocol

from django.core.files.base import File


class StoreUnavailable(OSError):
    """The file store is not responding."""


class StoredFile(NamedTuple):
    key: str
    digest: str


class FileSource(Protocol):
    def of_finished_jobs(self) -> Iterator[StoredFile]:
        """Yield the files of finished jobs, as the current transaction sees them."""

    def open(self, key: str) -> IO[bytes] | Any:
        """Open a file for reading, or raise FileNotFoundError."""

    def save(self, key: str, file: File[bytes]) -> None:
        """Store a file under its key; storing it twice is harmless."""

    def still_referenced(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that rows still name."""

    def expire_jobs(self, keys: Sequence[str]) -> int:
        """Expire the jobs of files that are gone; return how many."""


_sources: list[FileSource] = []


def register_file_source(source: FileSource) -> None:
    """Called once, by the app that stores the files."""
    _sources[:] = [source]


def file_source() -> FileSource:
    (source,) = _sources
    return source
