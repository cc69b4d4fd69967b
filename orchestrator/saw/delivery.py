"""Puts solutions into the saw's folders, and takes them back."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kilit.files import TEMP_SUFFIX, place, sync_folder, write_temp
from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import folder_errors, remove_leftovers
from orchestrator.files.folders import Folders
from orchestrator.planning.excel.naming import fold, short_hash

LONGEST_NAME = 80


def delivery_name(job_id: UUID, attempt: int, source: Path) -> str:
    """Return the name of a solution in the saw's folders: unique per attempt, and per file within it."""
    rest = source.stem.replace(str(job_id), "")
    readable = fold(rest)[:LONGEST_NAME].strip("-")
    unique = short_hash(source.stem) if rest else ""  # two names may fold to the same
    parts = [str(job_id), f"a{attempt}", readable, unique]
    return "_".join(part for part in parts if part) + ".xml"


def deliver(content: bytes, name: str, folders: Folders, *, prove: Callable[[], None] = lambda: None) -> None:
    """Write a solution into the inbox, completely or not at all. A file that was delivered before is skipped.

    `prove` raises if another runner holds the job by now. It is called last: writing to a share may outlast the lease.
    """
    with folder_errors(folders.saw):
        remove_leftovers(folders.inbox)
        if _is_delivered(name, folders):
            return
        temp = write_temp(folders.inbox, name, [content])
        try:
            # Checked again: a slow earlier runner may have delivered it, and the saw may have taken it, meanwhile.
            if not _is_delivered(name, folders):
                prove()
                with suppress(FileExistsError):
                    place(temp, folders.inbox / name)
        finally:
            temp.unlink(missing_ok=True)
        sync_folder(folders.inbox, required=False)


def acknowledged(name: str, folders: Folders) -> bool | None:
    """Return True if the saw took the file, False if it rejected it, None if it has not answered."""
    if os.path.lexists(folders.inbox / name):
        return None
    if os.path.lexists(folders.processed / name):
        return True
    return False if os.path.lexists(folders.failed / name) else None


def withdraw(name: str, folders: Folders) -> bool | None:
    """Take the file back, then check: True if the saw took it after all, False if rejected, None if withdrawn.

    The rename decides: either the saw gets the file or we do.
    """
    withdrawn = folders.inbox / f".{name}.withdrawn{TEMP_SUFFIX}"
    with folder_errors(folders.saw):
        try:
            (folders.inbox / name).replace(withdrawn)
        except FileNotFoundError:
            folders.inbox.stat()  # if the share is away, nothing is known about the file
            answer = acknowledged(name, folders)
            if answer is None and not os.path.lexists(withdrawn):
                raise JobError(
                    Code.OSI_ACK_TIMEOUT,
                    f"{name} left inbox/ but is neither in processed/ nor in failed/. "
                    "Check at the saw whether it was cut before you retry.",
                ) from None
        else:
            answer = acknowledged(name, folders)
        withdrawn.unlink(missing_ok=True)
        sync_folder(folders.inbox, required=False)
    return answer


def _is_delivered(name: str, folders: Folders) -> bool:
    return any(os.path.lexists(folder / name) for folder in (folders.inbox, folders.processed, folders.failed))
