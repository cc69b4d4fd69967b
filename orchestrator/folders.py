"""The folders shared with OptiPlanning and the saw: where they are, files that were left there, and their errors."""

import hashlib
import json
import os
import re
import secrets
import shlex
import stat
import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Self

from django.conf import settings

from kilit.files import TEMP_SUFFIX
from orchestrator import sentences
from orchestrator.errors import Code, JobError


@dataclass(frozen=True)
class Folders:
    imports: Path  # OptiPlanning's import folder
    export: Path  # OptiPlanning's export folder
    saw: Path  # it looks for files in inbox, and moves them to processed or failed
    template: Path
    command: tuple[str, ...] = ()  # mode A; the files are appended
    further_saws: Mapping[str, Path] = field(default_factory=dict, hash=False)  # by name

    @classmethod
    def from_settings(cls) -> Self:
        return cls(
            imports=settings.OPTI_IMPORT_FOLDER,
            export=settings.OPTI_EXPORT_FOLDER,
            saw=settings.SAW_FOLDER,
            template=settings.OPTI_TEMPLATE,
            command=read_command(settings.OPTI_COMMAND),
            further_saws=settings.SAW_FOLDERS,
        )

    @classmethod
    def at(cls, saw: str) -> Self:
        """Return the folders with those of one saw; a saw without folders of its own has the first ones."""
        folders = cls.from_settings()
        return replace(folders, saw=folders.further_saws.get(saw, folders.saw))

    def at_each_saw(self) -> list[Self]:
        """Return the folders with those of each saw, this one's first: a file of a job may be at any of them."""
        saws = (self.saw, settings.SAW_FOLDER, *self.further_saws.values()) if self.further_saws else (self.saw,)
        return [replace(self, saw=saw) for saw in dict.fromkeys(saws)]

    @property
    def inbox(self) -> Path:
        return self.saw / "inbox"

    @property
    def processed(self) -> Path:
        return self.saw / "processed"

    @property
    def failed(self) -> Path:
        return self.saw / "failed"

    def all(self) -> dict[str, Path]:
        return {
            "import": self.imports,
            "export": self.export,
            "saw inbox": self.inbox,
            "saw processed": self.processed,
            "saw failed": self.failed,
            **{
                f"{name} {part}": folder / part
                for name, folder in self.further_saws.items()
                for part in ("inbox", "processed", "failed")
            },
        }

    def prepare(self) -> None:
        """Create the folders below KILIT_VAR. Others belong to the factory, and a share may not be mounted."""
        for folder in self.all().values():
            if folder.is_relative_to(settings.KILIT_VAR):
                folder.mkdir(parents=True, exist_ok=True)


def split(line: str, *, posix: bool) -> list[str]:
    """Split a command line; on Windows backslashes stay, and quotes around a word are removed."""
    words = shlex.split(line, posix=posix)
    return words if posix else [re.sub(r"""^(["'])(.*)\1$""", r"\2", word) for word in words]


def read_command(line: str) -> tuple[str, ...]:
    """Return the words of a command, given as a JSON array or as a shell line; empty if it is malformed."""
    try:
        words = json.loads(line) if line.lstrip().startswith("[") else split(line, posix=os.name == "posix")
    except ValueError:
        return ()
    return tuple(words) if all(isinstance(word, str) and word for word in words) else ()


OURS = re.compile(r"\.(kilit-|[0-9a-f]{8}-[0-9a-f-]{27}_)")  # probes, and files of jobs
WITHDRAWN = f".withdrawn{TEMP_SUFFIX}"  # the end of the name of a file that was taken back from the saw
LEFTOVER_AFTER = 3600  # seconds; no write takes this long
MOST_SEEN = 1000


def remove_leftovers(folder: Path) -> list[str]:
    """Remove temporary files of our killed processes, and return their names.

    The folders are shared, so nothing else is touched. Files that were taken back from the saw are left to
    `orchestrator.saw.leftovers`: a runner may still need them.
    """
    ours = [temp for temp in folder.glob(f".*{TEMP_SUFFIX}") if OURS.match(temp.name)]
    removed = []
    for temp in old_ones([temp for temp in ours if not temp.name.endswith(WITHDRAWN)], folder):
        with suppress(OSError):
            temp.unlink()
            removed.append(temp.name)
    return removed


def old_ones(files: Sequence[Path], folder: Path) -> list[Path]:
    """Return the files of a folder that no process writes any more; nothing if the folder is read-only."""
    old: list[Path] = []
    if files:
        with suppress(OSError):
            now = current_mtime(folder)
            for file in files:
                with suppress(OSError):
                    if file.lstat().st_mtime < now - LEFTOVER_AFTER:
                        old.append(file)
    return old


def current_mtime(folder: Path) -> float:
    """Return the mtime of a file created now: a share has its own clock, which may differ from ours."""
    probe = folder / f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


class Sightings:
    """Since when this process has seen things as they are. Every process keeps its own record."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seen: dict[Hashable, tuple[object, float]] = {}

    def unchanged_for(self, thing: Hashable, state: object = None) -> timedelta:
        """Return how long a thing has been in this state, as far as was seen, and remember it."""
        now = time.monotonic()
        with self._lock:
            last, since = self.seen.pop(thing, (state, now))
            since = since if last == state else now
            self.seen[thing] = (state, since)  # at the end: the first entry is dropped first
            if len(self.seen) > MOST_SEEN:
                del self.seen[next(iter(self.seen))]
        return timedelta(seconds=now - since)

    def forget(self, thing: Hashable) -> None:
        with self._lock:
            self.seen.pop(thing, None)


def read_bounded(path: Path, *, most: int) -> bytes:
    """Read a file of at most so many bytes; the ValueError says why it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}.") from None
    if len(content) > most:
        raise ValueError(f"is larger than {most // 1024**2} MB.")
    return content


def file_sha256(path: Path) -> str | None:
    with suppress(FileNotFoundError):
        if stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JobError(Code.UNKNOWN, sentences.NO_FOLDER % {"folder": folder, "reason": reason}) from error
