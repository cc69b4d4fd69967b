"""The folders shared with OptiPlanning and the saw: leftover files, digests, and errors that name the folder."""

import hashlib
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kilit.files import TEMP_SUFFIX
from orchestrator.errors import Code, JobError

OURS = re.compile(r"\.(kilit-|[0-9a-f]{8}-[0-9a-f-]{27}_)")  # probes, and files of jobs
WITHDRAWN = f".withdrawn{TEMP_SUFFIX}"  # the end of the name of a file that was taken back from the saw
LEFTOVER_AFTER = 3600  # seconds; no write takes this long


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
        raise JobError(Code.UNKNOWN, f"Cannot use the folder {folder}: {reason}.") from error
