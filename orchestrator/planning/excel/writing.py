"""Writes a job's files, all of them or none."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from kilit.files import sync_folder, write_temp
from orchestrator.files.exchange import file_sha256, folder_errors, remove_leftovers
from orchestrator.files.folders import Folders
from orchestrator.planning.excel.naming import file_names
from orchestrator.planning.excel.template import read_template
from orchestrator.planning.plan import Plan


@dataclass(frozen=True)
class Sheet:
    """A file in OptiPlanning's import folder."""

    name: str
    sha256: str


def sheets_of(
    job_id: UUID, plan: Plan, folders: Folders, *, keep_alive: Callable[[], None] | None = None
) -> list[Sheet]:
    """Return what would be written, and write nothing."""
    return [sheet for sheet, _ in _filled(job_id, plan, folders, keep_alive)]


def contents_of(job_id: UUID, plan: Plan, folders: Folders) -> Iterator[tuple[Sheet, bytes]]:
    """Return what would be written, file by file, with its bytes: the same plan makes the same bytes."""
    return _filled(job_id, plan, folders, None)


def write_files(
    job_id: UUID, plan: Plan, folders: Folders, *, keep_alive: Callable[[], None] | None = None
) -> list[Sheet]:
    """Write one file per batch; a file that is there with the same content is left alone.

    `keep_alive` is called between files: a job with a thousand colours takes longer than a lease.
    """
    folder = folders.imports
    files: list[Sheet] = []
    asides: dict[Path, Path] = {}  # where a file will appear, and where it is until then
    try:
        with folder_errors(folder):
            remove_leftovers(folder)
            for sheet, content in _filled(job_id, plan, folders, keep_alive):
                files.append(sheet)
                if file_sha256(folder / sheet.name) != sheet.sha256:
                    asides[folder / sheet.name] = write_temp(folder, sheet.name, [content])
            _place_all(asides)
            sync_folder(folder, required=False)
    finally:
        for aside in asides.values():
            with suppress(OSError):
                aside.unlink(missing_ok=True)
    return files


def _filled(
    job_id: UUID, plan: Plan, folders: Folders, keep_alive: Callable[[], None] | None
) -> Iterator[tuple[Sheet, bytes]]:
    from orchestrator.planning.excel.sheet import sheet_bytes  # noqa: PLC0415 - only whoever writes files loads openpyxl

    template = read_template(folders.template)
    for name, batch in zip(file_names(job_id, plan.batches), plan.batches, strict=True):
        with folder_errors(Path(tempfile.gettempdir())):  # openpyxl writes there first
            content = sheet_bytes(template, batch)
        yield Sheet(name, hashlib.sha256(content).hexdigest()), content
        if keep_alive:
            keep_alive()


def _place_all(asides: dict[Path, Path]) -> None:
    """Rename every file to its name, or leave the folder as it was."""
    done: list[tuple[Path, Path | None]] = []  # what appeared, and where the one before it is
    try:
        for target, aside in asides.items():
            before = None
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))  # noqa: TRY301
            if os.path.lexists(target):
                before = aside.with_name(f"{aside.stem}.before{aside.suffix}")
                target.replace(before)
            done.append((target, before))
            aside.replace(target)
    except BaseException:
        for target, before in reversed(done):
            with suppress(OSError):
                before.replace(target) if before else target.unlink(missing_ok=True)
        raise
    for _, before in done:
        if before:
            with suppress(OSError):
                before.unlink()
