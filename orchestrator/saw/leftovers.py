"""Removes hidden files that stopped runners left in the folders, and records which.

A runner that is killed leaves the file that it was writing. One that is killed right after it has stored a failure also
leaves the file that it took back from the saw: no later step of the job would look for it.
"""

import logging
import time
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction

from kilit.lock.models import Event
from orchestrator import sentences
from orchestrator.folders import Folders, old_ones, remove_leftovers
from orchestrator.models import Job
from orchestrator.saw.delivery import name_of_withdrawn, withdrawn_files

logger = logging.getLogger(__name__)

LEFTOVER_REMOVED = "LEFTOVER_REMOVED"
LOOK_EVERY = 600.0  # seconds
LENGTH_OF_ID = 36


class LeftoverWatch:
    """Looks at the folders now and then, also while there is nothing to deliver."""

    def __init__(self) -> None:
        self._next_look = 0.0

    def look(self) -> None:
        if not settings.FLOOR_IS_HERE or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_EVERY
        for folders in Folders.from_settings().at_each_saw():
            with suppress(OSError):  # the share is away: jobs that need it report that
                remove_stale(folders)


def remove_stale(folders: Folders) -> None:
    for folder in (folders.imports, folders.inbox):
        for name in remove_leftovers(folder):
            _record(_job_of(name[1:]), name)
    for path in old_ones(withdrawn_files(folders), folders.inbox):
        _remove_withdrawn(path)


def _remove_withdrawn(path: Path) -> None:
    """Remove a file that was taken back, unless a runner may still need it: it shows that the saw does not have it."""
    name = name_of_withdrawn(path)
    with transaction.atomic():
        job = _job_of(name, is_locked=True)
        if job and job.claim_token is None and name not in job.open_deliveries:
            path.unlink(missing_ok=True)
            _record(job, path.name)


def _job_of(name: str, *, is_locked: bool = False) -> Job | None:
    """Return the job of a file's name. The folders are shared: a file of a job that we do not have is not ours."""
    jobs = Job.objects.select_for_update(skip_locked=True) if is_locked else Job.objects.all()
    try:
        return jobs.defer("payload").filter(pk=UUID(name[:LENGTH_OF_ID])).first()
    except ValueError:
        return None  # a probe of the folder


def _record(job: Job | None, name: str) -> None:
    logger.warning("removed a file that a stopped runner left behind", extra={"file": name})
    if job:
        Event.objects.record(job, LEFTOVER_REMOVED, message=sentences.LEFTOVER % {"file": name})
