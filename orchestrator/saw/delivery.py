"""Hands solutions to the saw through its folders, and takes them back."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kilit.files import TEMP_SUFFIX, place, sync_folder, write_temp
from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import chunks, folder_errors, remove_leftovers
from orchestrator.files.folders import Folders
from orchestrator.planning.excel.naming import folded, short_hash

LONGEST_WORDS = 80


def delivery_name(job_id: UUID, attempt: int, source: Path) -> str:
    """Return the name of a solution in the saw's folders: unique to the attempt, and to the file within it."""
    words = source.stem.replace(str(job_id), "")
    readable = folded(words)[:LONGEST_WORDS].strip("-")
    parts = [str(job_id), f"a{attempt}"]
    if words:
        # Folding may make two names one.
        parts += [readable, short_hash(source.stem)]
    return "_".join(part for part in parts if part) + ".xml"


def deliver(source: Path, name: str, folders: Folders, *, prove: Callable[[], None] = lambda: None) -> None:
    """Copy a solution into the inbox, whole or not at all; what was handed over once is left alone.

    `prove` raises when the job is no longer the caller's: it is asked last, because copying to a share may take long
    enough for somebody else to go on.
    """
    with folder_errors(folders.saw):
        remove_leftovers(folders.inbox)
        if _handed_over(name, folders):
            return
        aside = write_temp(folders.inbox, name, chunks(source))
        try:
            # Asked again: whoever held the job before us may have been slow, and the saw may have been fast.
            if not _handed_over(name, folders):
                prove()
                with suppress(FileExistsError):
                    place(aside, folders.inbox / name)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(folders.inbox, required=False)


def acknowledged(name: str, folders: Folders) -> bool | None:
    """Tell whether the saw took the file (true), refused it (false), or has not said yet (none)."""
    if _is_there(folders.inbox / name):
        return None
    if _is_there(folders.processed / name):
        return True
    return False if _is_there(folders.failed / name) else None


def withdraw(name: str, folders: Folders) -> bool | None:
    """Take the file back, then look again: true if it had been taken after all, false if refused, none if withdrawn.

    The rename decides: of the saw and us, one gets the file.
    """
    taken_back = folders.inbox / f".{name}.withdrawn{TEMP_SUFFIX}"
    with folder_errors(folders.saw):
        try:
            (folders.inbox / name).replace(taken_back)
        except FileNotFoundError:
            folders.inbox.stat()  # a share that is away says nothing about the file
            answer = acknowledged(name, folders)
            if answer is None and not _is_there(taken_back):
                raise JobError(
                    Code.OSI_ACK_TIMEOUT,
                    f"{name} left inbox/, but is neither in processed/ nor in failed/. "
                    "Ask at the saw whether it was cut before retrying.",
                ) from None
        else:
            answer = acknowledged(name, folders)
        taken_back.unlink(missing_ok=True)
        sync_folder(folders.inbox, required=False)
    return answer


def _handed_over(name: str, folders: Folders) -> bool:
    return any(_is_there(folder / name) for folder in (folders.inbox, folders.processed, folders.failed))


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)
