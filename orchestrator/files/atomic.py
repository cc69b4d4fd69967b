"""Files that appear whole or not at all: written aside, flushed to the disk, renamed."""

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

ASIDE = ".part"  # neither OptiPlanning nor the saw looks at these
OURS = re.compile(r"\.(kilit-|[0-9a-f]{8}-[0-9a-f-]{27}_)")  # probes, and files of jobs
LEFTOVER_AFTER = 3600  # seconds; nobody writes a file for so long
CHUNK = 1024**2
# What file systems answer that know no hard links: FAT, some network shares.
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK, errno.EACCES}


def write_aside(folder: Path, name: str, content: Iterable[bytes]) -> Path:
    """Write content beside the place where it will appear, and return where; nothing stays behind when that fails."""
    aside = folder / f".{name}.{secrets.token_hex(4)}{ASIDE}"
    try:
        with aside.open("xb") as file:
            for chunk in content:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    return aside


def place(aside: Path, target: Path) -> None:
    """Let a file appear under its name; one that is there already is never overwritten (FileExistsError)."""
    if os.name == "nt":
        aside.rename(target)  # refuses by itself
        return
    try:
        target.hardlink_to(aside)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Without links there is a moment between looking and renaming.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        aside.rename(target)
    else:
        aside.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    with suppress(OSError):  # some network shares refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sweep_leftovers(folder: Path) -> None:
    """Remove what killed processes of ours left aside; the folders are shared, so nothing else is touched."""
    ours = [aside for aside in folder.glob(f".*{ASIDE}") if OURS.match(aside.name)]
    if not ours:
        return
    with suppress(OSError):  # read-only for us: then nothing of ours can be removed either
        now = stamp_of_now(folder)
        for aside in ours:
            with suppress(OSError):
                if aside.lstat().st_mtime < now - LEFTOVER_AFTER:
                    aside.unlink()


def stamp_of_now(folder: Path) -> float:
    """Return how a file made now is stamped: a share has a clock of its own, by which others' files look old or new."""
    probe = folder / f".kilit-{secrets.token_hex(4)}{ASIDE}"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def digest_of(path: Path) -> str | None:
    """Return the sha256 of a file; none when there is no regular file of this name."""
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
def named_failures(folder: Path) -> Iterator[None]:
    """Say in one sentence which folder failed and how: full, read-only, gone."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JobError(Code.UNKNOWN, f"Cannot use the folder {folder}: {reason}.") from error
