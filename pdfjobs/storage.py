"""Finished PDFs in a folder: a file is there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage
from django.core.files.utils import validate_file_name

UNFINISHED = ".part"
ATTEMPTS = 5


class Stored(NamedTuple):
    """A file that lies there, and since when."""

    key: str
    since: datetime


class FileArtifacts(FileSystemStorage):
    """Files in a folder: written aside, forced to disk, then given their name.

    A file that is missing and a disk that is away for a moment look alike; the folder of all files tells them apart.
    It is made with the first file, and from then on its absence means that nobody can tell.
    """

    _was_there = False

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return the name as it is: each attempt's key is its own."""
        validate_file_name(name, allow_relative_path=True)
        return name

    def exists(self, name: str) -> bool:
        """Tell whether a file is there; what else the disk says is an error, and not an answer."""
        try:
            Path(self.path(name)).stat()
        except FileNotFoundError:
            self._look_for_folder(name)
            return False
        self._was_there = True
        return True

    def is_away(self, prefix: str) -> bool:
        """Tell whether the folder of all files was there and is not any more."""
        is_there = Path(self.location, prefix).is_dir()
        self._was_there = self._was_there or is_there
        return self._was_there and not is_there

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        try:
            file: File[Any] = super()._open(name, mode)  # type: ignore[misc]
        except FileNotFoundError:
            self._look_for_folder(name)
            raise
        self._was_there = True
        return file

    def _look_for_folder(self, name: str) -> None:
        folder = Path(self.location, Path(name).parts[0])
        if not folder.is_dir():
            raise OSError(f"{folder} is not there; is its disk mounted?")
        self._was_there = True

    def _save(self, name: str, content: File[Any]) -> str:
        if self._was_there:  # a file stored on the bare mount point would be lost when the disk is back
            self._look_for_folder(name)
        place = Path(self.path(name))
        aside = place.with_name(f"{place.name}.{secrets.token_hex(4)}{UNFINISHED}")
        try:
            with _open_in_folder(aside) as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(place)
            _sync(place.parent)
        finally:
            aside.unlink(missing_ok=True)
        self._was_there = True
        return name

    def delete(self, name: str) -> None:
        """Remove a file, and its folder when nothing else is in it."""
        super().delete(name)
        place = Path(self.path(name))
        try:
            place.parent.rmdir()
        except OSError:
            return  # another file is in it, or somebody was faster

    def stored(self, prefix: str) -> Iterator[Stored]:
        """Return every file, those that a crash left unfinished included."""
        root = Path(self.location)
        for folder, _, names in os.walk(root / prefix):
            for name in names:
                path = Path(folder, name)
                try:
                    since = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                except FileNotFoundError:
                    continue  # deleted meanwhile
                yield Stored(path.relative_to(root).as_posix(), since)


def _open_in_folder(place: Path) -> IO[bytes]:
    """Open a new file; its folder may be removed, as empty, by whoever deletes the file of an earlier attempt."""
    for _ in range(ATTEMPTS):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            return place.open("xb")
        except FileNotFoundError:
            continue
    raise FileNotFoundError(place)


def _sync(folder: Path) -> None:
    # Without this the name, unlike the content, could be lost with the power.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
