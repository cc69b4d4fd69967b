"""Expires old jobs and removes orphaned files.

Files are deleted first, rows follow. A crash in between leaves a row without its file: the next run finds it again, and
until then a download notices.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from kilit.lock.guard import MoveRefused
from pdfjobs.models import PdfCallback, PdfJob
from pdfjobs.models.job import PdfJobQuerySet
from pdfjobs.states import PdfStatus
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

BATCH = 200
# A worker stores the file before it updates the row; no claim is held this long.
ORPHANED_AFTER = timedelta(hours=1)
# Once for each state that the job may get between two looks: it may be claimed and finished only once.
DELETE_ATTEMPTS = 3
# Scheduled tasks are killed after a while; the next run continues.
TIME_LIMIT = 60.0  # seconds


@dataclass
class CleanupRun:
    """What a run has done, or would do. It stops when its time is up, but not for a file that cannot be deleted."""

    expired: int = 0
    orphans: int = 0
    is_complete: bool = True
    undeletable: set[str] = field(default_factory=set)
    deadline: float = field(default_factory=lambda: time.monotonic() + TIME_LIMIT)

    def format(self, template: str = "Expired {}, removed {}") -> str:
        parts = [template.format(self.expired, _count(self.orphans, "orphaned file"))]
        if self.undeletable:
            parts.append(f"{_count(len(self.undeletable), 'file')} could not be deleted")
        return "; ".join(parts) + ("." if self.is_complete else "; the next run continues.")

    def is_over(self) -> bool:
        if time.monotonic() > self.deadline:
            self.is_complete = False
        return not self.is_complete

    def delete(self, key: str) -> bool:
        if self.is_over():
            return False
        try:
            artifacts.delete(key)
        except artifacts.StorageUnavailable as error:
            logger.warning("a file could not be deleted: %s", error, extra={"artifact_key": key})
            self.undeletable.add(key)
            return False
        return True

    def expire(self, rows: PdfJobQuerySet, order: str) -> None:
        remaining = rows.order_by(order).values_list("pk", flat=True)
        while ids := list(remaining.exclude(artifact_key__in=self.undeletable)[:BATCH]):
            undeletable = len(self.undeletable)
            expired = expire(rows.filter(pk__in=ids), delete=self.delete)
            self.expired += len(expired)
            if self.is_over() or not (expired or len(self.undeletable) > undeletable):
                return  # no progress: all of them changed meanwhile; the next run looks again


def expire(rows: PdfJobQuerySet, *, delete: Callable[[str], bool] | None = None) -> set[UUID]:
    keys = dict(rows.order_by().values_list("pk", "artifact_key"))
    deleted = [key for key in keys.values() if key and (delete or _delete)(key)]
    # The caller's condition is part of the UPDATE: a job that an operator has retried meanwhile is not old any more.
    # So is the key: a job that has finished meanwhile has a file that was not deleted.
    return rows.filter(pk__in=list(keys), artifact_key__in=["", *deleted]).expire()


def delete_job(job: PdfJob) -> PdfJob:
    """Expire a job for its owner, whatever it waits for; MoveRefused while a worker renders it.

    The row decides: a job that a worker claims or finishes meanwhile stays as it is, and is looked at again.
    """
    rows = PdfJob.objects.filter(pk=job.pk)
    for _ in range(DELETE_ATTEMPTS):
        expire(rows)
        job.refresh_from_db()
        if job.status in (PdfStatus.EXPIRED, PdfStatus.RUNNING):
            break
    if job.status != PdfStatus.EXPIRED:
        raise MoveRefused(job, "expire", job.status)
    return job


def clean(*, ttl: timedelta | None = None) -> CleanupRun:
    run = CleanupRun()
    artifacts.verify()
    PdfCallback.objects.forget_old()
    for order, rows in old_jobs(ttl):
        run.expire(rows, order)
        if run.is_over():
            return run
    for batch in orphans():
        run.orphans += sum(run.delete(key) for key in batch)
        if run.is_over():  # listing files takes time, too
            break
    return run


def preview(*, ttl: timedelta | None = None) -> CleanupRun:
    artifacts.verify()
    return CleanupRun(expired=sum(rows.count() for _, rows in old_jobs(ttl)), orphans=sum(map(len, orphans())))


def old_jobs(ttl: timedelta | None) -> list[tuple[str, PdfJobQuerySet]]:
    """Return the jobs older than their time to live, each kind with the order of its index."""
    age = settings.PDF_TTL if ttl is None else ttl
    return [
        ("finished_at", PdfJob.objects.ended_before(age)),
        ("queued_at", PdfJob.objects.waiting_since_before(age)),
    ]


def orphans() -> Iterator[list[str]]:
    """Yield the keys of files that no job refers to, in batches that may be empty. Recent files may still get a row."""
    cutoff = timezone.now() - ORPHANED_AFTER  # compared with the clock of the disk or bucket, not of the database
    old_keys = (file.key for file in artifacts.list_files() if file.modified_at < cutoff)
    while batch := list(islice(old_keys, BATCH)):
        keys = keys_in_use(batch)
        yield [key for key in batch if key not in keys]


def keys_in_use(keys: Iterable[str]) -> set[str]:
    jobs = {job for key in keys if (job := artifacts.job_id_of(key))}
    return set(PdfJob.objects.filter(pk__in=jobs).exclude(artifact_key="").values_list("artifact_key", flat=True))


def _delete(key: str) -> bool:
    artifacts.delete(key)
    return True


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
