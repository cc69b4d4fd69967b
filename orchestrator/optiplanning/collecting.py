"""Finds OptiPlanning's solution of a job in the export folder."""

import hashlib
import logging
import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings

from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import current_mtime, folder_errors
from orchestrator.files.folders import Folders
from orchestrator.optiplanning.solution import Figures, InvalidSolution, read_solution, together

logger = logging.getLogger(__name__)

# Two equal looks so far apart; and the file's own time must be as old.
STABLE_AFTER = timedelta(seconds=2)
# A writer may pause in the middle of a file, and E_XML_INVALID is for good: a file that only lacks its end gets longer.
CUT_SHORT_AFTER = timedelta(seconds=30)
CHUNK = 64 * 1024
MOST_LOOKS = 1000

Fingerprint = tuple[int, int, int]


class Looks:
    """What this process saw of files before; another process looks for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seen: dict[Path, tuple[Fingerprint, float]] = {}

    def unchanged_for(self, path: Path, now: os.stat_result) -> timedelta:
        """Return how long a file has looked the same, and remember this look."""
        at = time.monotonic()
        with self._lock:
            known, since = self.seen.pop(path, (None, at))
            if known != fingerprint(now):
                since = at
            self.seen[path] = (fingerprint(now), since)  # at the end: the first is the one forgotten
            if len(self.seen) > MOST_LOOKS:
                del self.seen[next(iter(self.seen))]
        return timedelta(seconds=at - since)


def fingerprint(status: os.stat_result) -> Fingerprint:
    """Return what changes when a file does."""
    return status.st_ino, status.st_size, status.st_mtime_ns


looks = Looks()


@dataclass(frozen=True)
class Collected:
    """Solutions that are whole and valid."""

    paths: tuple[Path, ...]  # in the order of their names
    solution: Figures  # of the best Solution; empty when the file has none
    sha256: str  # of the contents, one after the other


@dataclass(frozen=True)
class Candidate:
    """A file that may be the solution."""

    path: Path
    modified_at: datetime


@dataclass(frozen=True)
class Wanted:
    """Which files are the solution of a job's attempt."""

    job_id: UUID
    newer_than: datetime
    sheets: Sequence[str]  # names of the job's files for OptiPlanning
    each: bool  # whether every sheet has a solution of its own, or one is enough for all of them


def collect(wanted: Wanted, folders: Folders) -> Collected | None:
    """Return the job's solution, or none when it is not there or not whole yet."""
    try:
        ordered = _chosen(wanted, folders.export)
        now = file_clock(folders.export) if ordered else None
    except (OSError, JobError) as error:
        # A share that is away for a minute fails no job; one that stays away ends in the timeout.
        logger.warning("the export folder does not answer: %s", error)
        return None
    if now is None:
        return None
    for path in ordered:
        with suppress(OSError):
            looks.unchanged_for(path, path.lstat())  # of all, before one that is not at rest ends this look
    digest = hashlib.sha256()
    figures = []
    for path in ordered:
        read = _read_whole(path, now, digest)
        if read is None:
            return None
        figures.append(read)
    return Collected(tuple(ordered), together(figures), digest.hexdigest())


def is_there(wanted: Wanted, folders: Folders) -> bool:
    """Tell whether every file of the solution has been begun, whole or not."""
    try:
        return bool(_chosen(wanted, folders.export))
    except OSError:
        return False


def missing(wanted: Wanted, folders: Folders) -> list[str]:
    """Return the sheets without a solution, when others have one."""
    try:
        found = _by_sheet(wanted, _candidates(wanted, folders.export))
    except OSError:
        return []
    return [name for name in wanted.sheets if not found[name]] if any(found.values()) else []


def _chosen(wanted: Wanted, folder: Path) -> list[Path]:
    """Return the files of the solution, in the order of their names; none unless each of them is there."""
    found = _candidates(wanted, folder)
    by_sheet = _by_sheet(wanted, found)
    named = {one.path for ones in by_sheet.values() for one in ones}
    for_all = [one for one in found if len(wanted.sheets) == 1 or one.path not in named]
    # A file that is named after one of several sheets solves that one: taken for the whole, the others were never cut.
    each = wanted.each or (bool(named) and not for_all)
    chosen = [_newest(ones) for ones in by_sheet.values()] if each else [_newest(for_all)]
    return [] if None in chosen else sorted((one.path for one in chosen if one), key=lambda path: path.name)


def _by_sheet(wanted: Wanted, found: list[Candidate]) -> dict[str, list[Candidate]]:
    """Return the files that name a sheet, each under the longest name that it holds."""
    longest_first = sorted(wanted.sheets, key=len, reverse=True)
    by_sheet: dict[str, list[Candidate]] = {name: [] for name in wanted.sheets}
    for one in found:
        named = (name for name in longest_first if whole_token(Path(name).stem).search(one.path.name))
        if name := next(named, None):
            by_sheet[name].append(one)
    return by_sheet


def _candidates(wanted: Wanted, folder: Path) -> list[Candidate]:
    ours = whole_token(str(wanted.job_id))
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.lower().endswith(".xml") or entry.name.startswith((".", "~")):
                continue
            if not ours.search(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(FileNotFoundError):
                modified_at = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                if modified_at >= wanted.newer_than:
                    found.append(Candidate(Path(entry.path), modified_at))
    return found


def whole_token(text: str) -> re.Pattern[str]:
    """Return a pattern for text that is not part of a longer word."""
    return re.compile(rf"(?<![0-9A-Za-z]){re.escape(text)}(?![0-9A-Za-z])", re.IGNORECASE)


def _newest(found: list[Candidate]) -> Candidate | None:
    return max(found, key=lambda one: (one.modified_at, one.path.name), default=None)


def _read_whole(path: Path, now: datetime, digest: "hashlib._Hash") -> Figures | None:
    """Return the figures of a file at rest; none while it is still changing, or cannot be opened yet."""
    try:
        # Neither a link to elsewhere nor a pipe that never ends.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
    except OSError:
        return None  # gone again, or Windows keeps it for its writer
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor)
        # Some shares stamp a file when it is closed, and copies keep their old stamps: so what we saw counts as well.
        rest = min(now - datetime.fromtimestamp(before.st_mtime, UTC), looks.unchanged_for(path, before))
        if not stat.S_ISREG(before.st_mode) or rest < STABLE_AFTER:
            return None
        limit = settings.XML_MAX_MB * 1024**2
        if before.st_size > limit:
            raise _invalid(path, f"it is larger than {settings.XML_MAX_MB} MB (KILIT_XML_MAX_MB)")

        def chunks() -> Iterator[bytes]:
            left = limit
            while left >= 0 and (chunk := file.read(CHUNK)):
                left -= len(chunk)
                digest.update(chunk)
                yield chunk

        try:
            figures = read_solution(chunks())
        except InvalidSolution as wrong:
            if _changed(path, before) or (wrong.cut_short and rest < CUT_SHORT_AFTER):
                return None
            raise _invalid(path, str(wrong)) from None
        # Whoever wrote on while we read did not give us the file that we read.
        return None if _changed(path, before) else figures


def _changed(path: Path, before: os.stat_result) -> bool:
    try:
        after = path.lstat()
    except OSError:
        return True
    return fingerprint(before) != fingerprint(after)


def _invalid(path: Path, reason: str) -> JobError:
    return JobError(Code.XML_INVALID, f"{path.name} is no solution: {reason}.")


def file_clock(folder: Path) -> datetime:
    """Return the time by the clock that stamps files in this folder, which need not be ours."""
    with folder_errors(folder):
        try:
            return datetime.fromtimestamp(current_mtime(folder), UTC)
        except FileNotFoundError:
            raise
        except OSError:
            # Read-only for us: our own clock has to do.
            return datetime.fromtimestamp(time.time(), UTC)
