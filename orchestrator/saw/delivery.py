"""Puts solutions into the saw's folders, and takes them back."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kilit.files import place, sync_folder, write_temp
from kilit.sentences import Sentence, joined
from orchestrator import sentences
from orchestrator.errors import HandoverUnknownError
from orchestrator.folders import OURS, WITHDRAWN, Folders, folder_errors, remove_leftovers
from orchestrator.planning.excel.naming import fold, short_hash

LONGEST_NAME = 80


def delivery_name(job_id: UUID, attempt: int, source: Path) -> str:
    """Return the name of a solution in the saw's folders: unique per attempt, and per file within it."""
    rest = source.stem.replace(str(job_id), "")
    readable = fold(rest)[:LONGEST_NAME].strip("-")
    unique = short_hash(source.stem) if rest else ""  # two names may fold to the same
    parts = [str(job_id), f"a{attempt}", readable, unique]
    return "_".join(part for part in parts if part) + ".xml"


def deliver(
    content: bytes,
    name: str,
    folders: Folders,
    *,
    prove: Callable[[], object] = lambda: None,
    may_be_there: bool = False,
) -> None:
    """Write a solution into the inbox, completely or not at all. A file that was delivered before is skipped.

    `prove` raises if another runner holds the job by now. It is called last: writing to a share may outlast the lease.
    If an earlier runner came as far as that, the file `may_be_there`; when it is not, the saw may have taken it.
    """
    with folder_errors(folders.saw):
        remove_leftovers(folders.inbox)
        if _is_delivered(name, folders):
            return
        if may_be_there:
            stat_folders(folders)
            raise _lost(name, sentences.STOPPED)
        temp = write_temp(folders.inbox, name, [content])
        try:
            # Checked again: a slow earlier runner may have delivered it, and the saw may have taken it, meanwhile.
            if not _is_delivered(name, folders):
                prove()
                discard(name, folders)  # of an earlier delivery: from here on the saw may have it
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


def withdraw(name: str, folders: Folders, *, keep: bool = False) -> bool | None:
    """Take the file back, then check: True if the saw took it after all, False if rejected, None if withdrawn.

    HandoverUnknownError if it is nowhere. The rename decides: either the saw gets the file or we do. With `keep`, what
    we got stays under another name, as evidence for the next runner; `discard` it once it is recorded that we have it.
    """
    withdrawn = _withdrawn(name, folders)
    with folder_errors(folders.saw):
        try:
            (folders.inbox / name).replace(withdrawn)
        except FileNotFoundError:
            stat_folders(folders)
            is_taken = acknowledged(name, folders)
            if is_taken is None and not os.path.lexists(withdrawn):
                raise _lost(name, sentences.LEFT_INBOX) from None
        else:
            is_taken = acknowledged(name, folders)
        if not keep or is_taken is not None:
            withdrawn.unlink(missing_ok=True)
        sync_folder(folders.inbox, required=False)
    return is_taken


def discard(name: str, folders: Folders) -> None:
    _withdrawn(name, folders).unlink(missing_ok=True)


def _withdrawn(name: str, folders: Folders) -> Path:
    return folders.inbox / f".{name}{WITHDRAWN}"


def withdrawn_files(folders: Folders) -> list[Path]:
    return [path for path in folders.inbox.glob(f".*{WITHDRAWN}") if OURS.match(path.name)]


def name_of_withdrawn(path: Path) -> str:
    return path.name.removeprefix(".").removesuffix(WITHDRAWN)


def stat_folders(folders: Folders) -> None:
    """Raise an OSError if the share is away: then nothing is known about its files."""
    for folder in (folders.inbox, folders.processed, folders.failed):
        folder.stat()


def _is_delivered(name: str, folders: Folders) -> bool:
    return any(os.path.lexists(folder / name) for folder in (folders.inbox, folders.processed, folders.failed))


def _lost(name: str, text: Sentence) -> HandoverUnknownError:
    return HandoverUnknownError(name, joined(text % {"file": name}, sentences.NOWHERE))
