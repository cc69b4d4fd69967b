"""Ends what is old, and removes files that belong to nobody (PDF-10).

Files go first, rows follow. A crash in between leaves a row whose file is missing: the next run finds it as old as
before, and until then a download notices.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from pdfjobs import store
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet

BATCH = 200
# A file is there before its row says so; no claim is held that long.
ORPHANED_AFTER = timedelta(hours=1)
# A sweep is a task that is ended by force after a while; what is left is done at its next run.
TIME_FOR_ALL = 60.0  # seconds


@dataclass
class Cleaned:
    """What was ended and removed, or would be."""

    expired: int = 0
    orphans: int = 0
    is_done: bool = True

    def told(self, verb: str = "Expired {}, removed {}") -> str:
        """Say it."""
        files = f"{self.orphans} orphaned file{'' if self.orphans == 1 else 's'}"
        return verb.format(self.expired, files) + ("." if self.is_done else "; the rest at the next run.")


def expire(rows: PdfJobQuerySet) -> set[UUID]:
    """Delete the files of jobs, then end those jobs, and those that have none."""
    found = dict(rows.order_by().values_list("pk", "artifact_key"))
    keys = [key for key in found.values() if key]
    for key in keys:
        store.delete(key)
    # By the caller's own condition: a job that an operator queued again since we looked is not old any more. And by
    # key: one that finished since has a file that was not deleted, and stays.
    return rows.filter(pk__in=list(found), artifact_key__in=["", *keys]).expire()


def clean(*, ttl: timedelta | None = None) -> Cleaned:
    """Expire what is older than its time to live, then remove orphans."""
    end = time.monotonic() + TIME_FOR_ALL
    cleaned = Cleaned()
    for order, rows in old(ttl):
        while ids := list(rows.order_by(order).values_list("pk", flat=True)[:BATCH]):
            ended = expire(rows.filter(pk__in=ids))
            cleaned.expired += len(ended)
            if time.monotonic() > end:
                cleaned.is_done = False
                return cleaned
            if not ended:
                break  # all of them changed meanwhile; the next run looks again
    for key in orphans():
        store.delete(key)
        cleaned.orphans += 1
        if time.monotonic() > end:
            cleaned.is_done = False
            break
    return cleaned


def preview(*, ttl: timedelta | None = None) -> Cleaned:
    """Count what a run would end and remove now."""
    return Cleaned(expired=sum(rows.count() for _, rows in old(ttl)), orphans=sum(1 for _ in orphans()))


def old(ttl: timedelta | None) -> list[tuple[str, PdfJobQuerySet]]:
    """Return the jobs whose time is over, each kind with the order that its index knows."""
    age = settings.PDF_TTL if ttl is None else ttl
    return [
        ("finished_at", PdfJob.objects.ended_before(age)),
        ("queued_at", PdfJob.objects.waiting_since_before(age)),
    ]


def orphans() -> Iterator[str]:
    """Return the keys of files that no job calls its own, once they are too old to belong to one in the making."""
    cutoff = timezone.now() - ORPHANED_AFTER  # against the clock of the disk or bucket, not of the database
    aged = (file.key for file in store.stored() if file.since < cutoff)
    while batch := list(islice(aged, BATCH)):
        owned = keys_in_use(batch)
        yield from (key for key in batch if key not in owned)


def keys_in_use(keys: Iterable[str]) -> set[str]:
    """Return those keys that their jobs' rows know."""
    jobs = {job for key in keys if (job := store.job_of(key))}
    return set(PdfJob.objects.filter(pk__in=jobs).exclude(artifact_key="").values_list("artifact_key", flat=True))
