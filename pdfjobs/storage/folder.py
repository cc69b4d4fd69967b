"""Finished PDFs in a folder. A file is written completely or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage
from django.core.files.utils import validate_file_name

from kilit.files import write_atomically

ATTEMPTS = 5
LEAST_FREE = 32 * 1024 * 1024  # bytes; most PDFs are smaller


class StorageEntry(NamedTuple):
    key: str
    modified_at: datetime


class FolderStorage(FileSystemStorage):
    """Files are written under a temporary name, synced to disk, then renamed.

    A missing file and an unmounted disk look alike. The top folder tells them apart: it is created with the first
    file, and when it disappears afterwards, the disk is not mounted and nothing can be said about any file.
    """

    folder = "pdfs"
    _folder_seen = False
    errors = (OSError,)

    def is_missing(self, error: Exception) -> bool:
        return isinstance(error, FileNotFoundError)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return the name unchanged: every attempt has a key of its own."""
        validate_file_name(name, allow_relative_path=True)
        return name

    def exists(self, name: str) -> bool:
        """Unlike Django's, raise on any other error of the disk instead of answering False."""
        try:
            Path(self.path(name)).stat()
        except FileNotFoundError:
            self._check_folder(name)
            return False
        self._folder_seen = True
        return True

    def verify(self, *, stores: bool) -> None:
        if self._folder_seen:
            self._check_folder(self.folder)
        self._folder_seen = Path(self.location, self.folder).is_dir()
        if stores and self._folder_seen and shutil.disk_usage(self.location).free < LEAST_FREE:
            raise OSError(f"no space is left on the disk of {self.location}")

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        try:
            file: File[Any] = super()._open(name, mode)  # type: ignore[misc]
        except FileNotFoundError:
            self._check_folder(name)
            raise
        self._folder_seen = True
        return file

    def _check_folder(self, name: str) -> None:
        folder = Path(self.location, Path(name).parts[0])
        if not folder.is_dir():
            raise OSError(f"{folder} does not exist; is its disk mounted?")
        self._folder_seen = True

    def _save(self, name: str, content: File[Any]) -> str:
        if self._folder_seen:  # a file written below the mount point would be hidden once the disk is mounted again
            self._check_folder(name)
        _write(Path(self.path(name)), b"".join(content.chunks()))
        self._folder_seen = True
        return name

    def delete(self, name: str) -> None:
        super().delete(name)
        path = Path(self.path(name))
        with suppress(OSError):  # not empty, or removed already
            path.parent.rmdir()

    def list_files(self) -> Iterator[StorageEntry]:
        """Yield every file, including drafts left by a crash."""
        root = Path(self.location)
        for folder, _, names in os.walk(root / self.folder):
            for name in names:
                path = Path(folder, name)
                with suppress(FileNotFoundError):  # deleted meanwhile
                    modified_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    yield StorageEntry(path.relative_to(root).as_posix(), modified_at)


def _write(path: Path, content: bytes) -> None:
    """Races with `delete` of an earlier attempt's file, which removes the folder when it is empty."""
    for _ in range(ATTEMPTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return write_atomically(path, content)
    raise FileNotFoundError(path)
