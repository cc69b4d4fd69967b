"""Atomic file writes: a file appears complete under its name, or not at all.

The content goes to a temporary file in the same folder, is flushed to disk, and then renamed. This is the lowest layer
of kilit, without Django: the local secret key is written before there are settings.
"""

import errno
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TEMP_SUFFIX = ".part"
# What file systems without hard links return: FAT, some network shares.
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK, errno.EACCES}


def write_atomically(target: Path, content: bytes, *, mode: int = 0o666, sync_required: bool = True) -> None:
    temp = write_temp(target.parent, target.name, [content], mode=mode)
    try:
        temp.replace(target)
    finally:
        temp.unlink(missing_ok=True)
    sync_folder(target.parent, required=sync_required)


def write_temp(folder: Path, name: str, content: Iterable[bytes], *, mode: int = 0o666) -> Path:
    """Write the content to a temporary file in the folder and return its path; a failure leaves nothing behind."""
    temp = folder / f".{name}.{secrets.token_hex(4)}{TEMP_SUFFIX}"
    try:
        with open(temp, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            temp.unlink(missing_ok=True)
        raise
    return temp


def place(temp: Path, target: Path) -> None:
    """Rename a temporary file to its final name, or raise FileExistsError: an existing file is never overwritten."""
    if os.name == "nt":
        temp.rename(target)  # raises if the target exists
        return
    try:
        target.hardlink_to(temp)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Without links, another process may create the target between this check and the rename.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temp.rename(target)
    else:
        temp.unlink()


def sync_folder(folder: Path, *, required: bool = True) -> None:
    """Flush the names in a folder to the disk: without this a name, unlike the content, can be lost with the power.

    Some network shares refuse; `required=False` accepts that.
    """
    if os.name == "nt":
        return
    try:
        sync_path(folder)
    except OSError:
        if required:
            raise


def sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
