"""Files that belong to rows and are backed up with them; the queue that keeps such files registers how."""

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple, Protocol

from django.core.files.base import File


class StoreUnavailable(Exception):  # noqa: N818 - a fact about the store
    """The store of files does not answer."""


class StoredFile(NamedTuple):
    key: str
    digest: str


class StoredFiles(Protocol):
    def of_finished_jobs(self) -> Iterator[StoredFile]:
        """Return the files of finished jobs, as the current transaction sees them."""

    def open(self, key: str) -> IO[bytes] | Any:
        """Open a file for reading, or raise FileNotFoundError."""

    def save(self, key: str, file: File[bytes]) -> None:
        """Store a file under its key; the same file twice is one file."""

    def still_referenced(self, keys: Sequence[str]) -> list[str]:
        """Return those of the keys that a row still names."""

    def expire_jobs(self, keys: Sequence[str]) -> int:
        """End the jobs whose file is gone, and return how many."""


sources: list[StoredFiles] = []


def register(source: StoredFiles) -> None:
    """Called from the `ready()` of the app that keeps the files."""
    sources.append(source)


def the_source() -> StoredFiles:
    (source,) = sources
    return source
