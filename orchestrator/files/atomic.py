"""Files that appear complete or not at all: written to a temporary file, flushed to disk, renamed."""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.errors import Code, JobError

TEMP_SUFFIX = ".part"  # OptiPlanning and the saw ignore these files
OURS = re.compile(r"\.(kilit-|[0-9a-f]{8}-[0-9a-f-]{27}_)")  # probes, and files of jobs
LEFTOVER_AFTER = 3600  # seconds; no write takes this long
CHUNK = 1024**2
# The answers of file systems without hard links: FAT, some network shares.
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK, errno.EACCES}


def write_temp(folder: Path, name: str, content: Iterable[bytes]) -> Path:
    """Write content to a temporary file in the folder and return its path; on failure nothing is left behind."""
    temp = folder / f".{name}.{secrets.token_hex(4)}{TEMP_SUFFIX}"
    try:
        with temp.open("xb") as file:
            for chunk in content:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            temp.unlink(missing_ok=True)
        raise
    return temp


def place(temp: Path, target: Path) -> None:
    """Rename a temporary file to its final name. An existing file is never overwritten (FileExistsError)."""
    if os.name == "nt":
        temp.rename(target)  # Windows refuses to overwrite
        return
    try:
        target.hardlink_to(temp)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Without links, another process can create the file between the check and the rename.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temp.rename(target)
    else:
        temp.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the folder's entries to disk where the system supports it."""
    if os.name == "nt":
        return
    with suppress(OSError):  # some network shares refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of our killed processes. The folders are shared, so nothing else is touched."""
    ours = [temp for temp in folder.glob(f".*{TEMP_SUFFIX}") if OURS.match(temp.name)]
    if not ours:
        return
    with suppress(OSError):  # in a read-only folder nothing can be removed anyway
        now = current_mtime(folder)
        for temp in ours:
            with suppress(OSError):
                if temp.lstat().st_mtime < now - LEFTOVER_AFTER:
                    temp.unlink()


def current_mtime(folder: Path) -> float:
    """Return the mtime of a file created now: a share has its own clock, which may differ from ours."""
    probe = folder / f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def file_sha256(path: Path) -> str | None:
    """Return the sha256 of a regular file, or None if there is none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        digest = hashlib.sha256()
        for chunk in chunks(path):
            digest.update(chunk)
        return digest.hexdigest()
    except FileNotFoundError:
        return None


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Turn an OSError into a JobError that names the folder and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JobError(Code.UNKNOWN, f"Cannot use the folder {folder}: {reason}.") from error
