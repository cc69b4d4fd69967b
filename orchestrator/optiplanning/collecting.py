"""Finds a job's solution in OptiPlanning's export folder."""

import hashlib
import logging
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders, Sightings, current_mtime, folder_errors
from orchestrator.optiplanning.solution import Figures, InvalidSolution, merge_figures, read_solution

logger = logging.getLogger(__name__)

# A file is stable if it looked the same for this long, and its mtime is at least as old.
STABLE_AFTER = timedelta(seconds=2)
# A writer may pause in the middle of a file, and E_XML_INVALID is permanent: a truncated file gets more time.
CUT_SHORT_AFTER = timedelta(seconds=30)
CHUNK = 64 * 1024

files_seen = Sightings()


def fingerprint(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Collected:
    paths: tuple[Path, ...]  # in the order of their names
    solution: Figures  # of the best Solution; empty when the file has no Solution
    sha256: str  # of the concatenated contents


@dataclass(frozen=True)
class Wanted:
    job_id: UUID
    newer_than: datetime
    sheets: Sequence[str]  # names of the job's files for OptiPlanning
    each: bool  # whether every sheet needs its own solution, or one covers all sheets


def collect(wanted: Wanted, folders: Folders) -> Collected | None:
    """Return the job's solution, or None if it is missing or still being written."""
    try:
        ordered = _chosen(wanted, folders.export)
        now = file_clock(folders.export) if ordered else None
    except (OSError, JobError) as error:
        # A short outage fails no job; a long one ends in the timeout.
        logger.warning("cannot read the export folder: %s", error)
        return None
    if now is None:
        return None
    for path in ordered:
        with suppress(OSError):
            files_seen.unchanged_for(
                path, fingerprint(path.lstat())
            )  # record every file before an unstable one ends the loop
    digest = hashlib.sha256()
    figures = []
    for path in ordered:
        read = _read_stable(path, now, digest)
        if read is None:
            return None
        figures.append(read)
    return Collected(tuple(ordered), merge_figures(figures), digest.hexdigest())


def is_begun(wanted: Wanted, folders: Folders) -> bool:
    """Return whether every file of the solution exists, complete or not."""
    with suppress(OSError):
        return bool(_chosen(wanted, folders.export))
    return False


def missing(wanted: Wanted, folders: Folders) -> list[str]:
    try:
        by_sheet = _by_sheet(wanted, _candidates(wanted, folders.export))
    except OSError:
        return []
    return [name for name in wanted.sheets if not by_sheet[name]] if any(by_sheet.values()) else []


def _chosen(wanted: Wanted, folder: Path) -> list[Path]:
    candidates = _candidates(wanted, folder)
    by_sheet = _by_sheet(wanted, candidates)
    named = {path for paths in by_sheet.values() for path in paths}
    for_all = [path for path in candidates if len(wanted.sheets) == 1 or path not in named]
    # A file named after one of several sheets solves only that one: taken for all, the others would never be cut.
    each = wanted.each or (bool(named) and not for_all)
    choices = list(by_sheet.values()) if each else [for_all]
    return sorted((newest for newest, *_ in choices), key=lambda path: path.name) if all(choices) else []


def _by_sheet(wanted: Wanted, paths: list[Path]) -> dict[str, list[Path]]:
    """Return the files by the sheet they name; if several names match, by the longest."""
    longest_first = sorted(wanted.sheets, key=len, reverse=True)
    by_sheet: dict[str, list[Path]] = {name: [] for name in wanted.sheets}
    for path in paths:
        named = (name for name in longest_first if whole_token(Path(name).stem).search(path.name))
        if name := next(named, None):
            by_sheet[name].append(path)
    return by_sheet


def _candidates(wanted: Wanted, folder: Path) -> list[Path]:
    ours = whole_token(str(wanted.job_id))
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.lower().endswith(".xml") or entry.name.startswith((".", "~")):
                continue
            if not ours.search(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(FileNotFoundError):
                modified_at = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                if modified_at >= wanted.newer_than:
                    files.append((modified_at, entry.name))
    return [folder / name for _, name in sorted(files, reverse=True)]


def whole_token(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![0-9A-Za-z]){re.escape(text)}(?![0-9A-Za-z])", re.IGNORECASE)


def _read_stable(path: Path, now: datetime, digest: "hashlib._Hash") -> Figures | None:
    """Return the figures of a stable file, or None while it changes or cannot be opened."""
    try:
        # Follow no link, and do not block on a pipe.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
    except OSError:
        return None  # removed, or locked by its writer on Windows
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor)
        # Some shares set the mtime on close, and copies keep an old one: so our own observation counts too.
        unchanged_for = files_seen.unchanged_for(path, fingerprint(before))
        rest = min(now - datetime.fromtimestamp(before.st_mtime, UTC), unchanged_for)
        if not stat.S_ISREG(before.st_mode) or rest < STABLE_AFTER:
            return None
        limit = settings.XML_MAX_MB * 1024**2
        if before.st_size > limit:
            raise _invalid(path, sentences.TOO_LARGE % {"size": settings.XML_MAX_MB})

        def chunks() -> Iterator[bytes]:
            left = limit
            while left >= 0 and (chunk := file.read(CHUNK)):
                left -= len(chunk)
                digest.update(chunk)
                yield chunk

        try:
            figures = read_solution(chunks())
        except InvalidSolution as error:
            if _changed(path, before) or (error.cut_short and rest < CUT_SHORT_AFTER):
                return None
            raise _invalid(path, str(error)) from None
        # If the file was written to while we read it, what we read is not the file.
        return None if _changed(path, before) else figures


def _changed(path: Path, before: os.stat_result) -> bool:
    try:
        return fingerprint(path.lstat()) != fingerprint(before)
    except OSError:
        return True


def _invalid(path: Path, reason: str) -> JobError:
    return JobError(Code.XML_INVALID, sentences.NOT_A_SOLUTION % {"file": path.name, "reason": reason})


def file_clock(folder: Path) -> datetime:
    """Return the time by the clock that stamps files in this folder, which may differ from ours."""
    with folder_errors(folder):
        try:
            return datetime.fromtimestamp(current_mtime(folder), UTC)
        except FileNotFoundError:
            raise
        except OSError:
            # A read-only folder: fall back to our own clock.
            return datetime.fromtimestamp(time.time(), UTC)
