"""Writes all of a job's sheets, or nothing."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kilit.files import sync_folder, write_temp
from orchestrator.folders import Folders, file_sha256, folder_errors, remove_leftovers
from orchestrator.planning.excel.naming import file_names
from orchestrator.planning.excel.template import read_template
from orchestrator.planning.plan import Plan
from orchestrator.schemas.jobs import SheetFile


def write_files(
    job_id: UUID, plan: Plan, folders: Folders, *, keep_alive: Callable[[], None] | None = None
) -> list[SheetFile]:
    """Write one file per batch; an existing file with the same content is skipped.

    `keep_alive` is called between files: a job with a thousand colours takes longer than a lease.
    """
    folder = folders.imports
    files: list[SheetFile] = []
    temps: dict[Path, Path] = {}  # final path and temporary path
    try:
        with folder_errors(folder):
            remove_leftovers(folder)
            for sheet, content in render_sheets(job_id, plan, folders, keep_alive):
                files.append(sheet)
                path = folder / sheet["name"]
                if file_sha256(path) != sheet["sha256"]:
                    temps[path] = write_temp(folder, path.name, [content])
            _place_all(temps)
            sync_folder(folder, required=False)
    finally:
        for temp in temps.values():
            with suppress(OSError):
                temp.unlink(missing_ok=True)
    return files


def render_sheets(
    job_id: UUID, plan: Plan, folders: Folders, keep_alive: Callable[[], None] | None = None
) -> Iterator[tuple[SheetFile, bytes]]:
    """Yield every sheet with its bytes; the same plan gives the same bytes."""
    from orchestrator.planning.excel.sheet import sheet_bytes

    template = read_template(folders.template)
    for name, batch in zip(file_names(job_id, plan.batches), plan.batches, strict=True):
        with folder_errors(Path(tempfile.gettempdir())):  # openpyxl writes there first
            content = sheet_bytes(template, batch)
        yield {"name": name, "sha256": hashlib.sha256(content).hexdigest()}, content
        if keep_alive:
            keep_alive()


def _place_all(temps: dict[Path, Path]) -> None:
    done: list[tuple[Path, Path | None]] = []  # each new file, and the backup of the one it replaced
    try:
        for target, temp in temps.items():
            before = None
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
            if os.path.lexists(target):
                before = temp.with_name(f"{temp.stem}.before{temp.suffix}")
                target.replace(before)
            done.append((target, before))
            temp.replace(target)
    except BaseException:
        for target, before in reversed(done):
            with suppress(OSError):
                before.replace(target) if before else target.unlink(missing_ok=True)
        raise
    for _, before in done:
        if before:
            with suppress(OSError):
                before.unlink()
