"""Ends what is old, and removes files that belong to nobody.

Files go first, rows follow. A crash in between leaves a row whose file is missing: the next run finds it as old as
before, and until then a download notices.
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

from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

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
    stuck: set[str] = field(default_factory=set)

    def told(self, verb: str = "Expired {}, removed {}") -> str:
        told = [verb.format(self.expired, _files(self.orphans, "orphaned file"))]
        told += [f"{_files(len(self.stuck), 'file')} could not be deleted"] if self.stuck else []
        return "; ".join(told) + ("." if self.is_done else "; the rest at the next run.")


@dataclass
class Cleaning:
    """One run: it ends in time, and one file that cannot be deleted does not keep the others."""

    end: float
    done: Cleaned = field(default_factory=Cleaned)

    def is_over(self) -> bool:
        if time.monotonic() > self.end:
            self.done.is_done = False
        return not self.done.is_done

    def delete(self, key: str) -> bool:
        """Delete a file, unless the time is over or the store refuses."""
        if self.is_over():
            return False
        try:
            artifacts.delete(key)
        except artifacts.StorageUnavailable as fault:
            logger.warning("a file could not be deleted: %s", fault, extra={"artifact_key": key})
            self.done.stuck.add(key)
            return False
        return True

    def expire(self, rows: PdfJobQuerySet, order: str) -> None:
        left = rows.order_by(order).values_list("pk", flat=True)
        while ids := list(left.exclude(artifact_key__in=self.done.stuck)[:BATCH]):
            stuck = len(self.done.stuck)
            ended = expire(rows.filter(pk__in=ids), delete=self.delete)
            self.done.expired += len(ended)
            if self.is_over() or not (ended or len(self.done.stuck) > stuck):
                return  # without either, all of them changed meanwhile; the next run looks again

    def remove_orphans(self) -> None:
        """Remove files of nobody; looking for them takes time too, where there are none."""
        for batch in orphans():
            self.done.orphans += sum(self.delete(key) for key in batch)
            if self.is_over():
                return


def expire(rows: PdfJobQuerySet, *, delete: Callable[[str], bool] | None = None) -> set[UUID]:
    """Delete the files of jobs, then end those jobs, and those that have none."""
    found = dict(rows.order_by().values_list("pk", "artifact_key"))
    gone = [key for key in found.values() if key and (delete or _delete)(key)]
    # By the caller's own condition: a job that an operator queued again since we looked is not old any more. And by
    # key: one that finished since has a file that was not deleted, and stays.
    return rows.filter(pk__in=list(found), artifact_key__in=["", *gone]).expire()


def clean(*, ttl: timedelta | None = None) -> Cleaned:
    """Expire what is older than its time to live, then remove orphans."""
    cleaning = Cleaning(time.monotonic() + TIME_FOR_ALL)
    for order, rows in old(ttl):
        cleaning.expire(rows, order)
        if cleaning.is_over():
            return cleaning.done
    cleaning.remove_orphans()
    return cleaning.done


def preview(*, ttl: timedelta | None = None) -> Cleaned:
    """Count what a run would end and remove now."""
    return Cleaned(expired=sum(rows.count() for _, rows in old(ttl)), orphans=sum(map(len, orphans())))


def old(ttl: timedelta | None) -> list[tuple[str, PdfJobQuerySet]]:
    """Return the jobs whose time is over, each kind with the order that its index knows."""
    age = settings.PDF_TTL if ttl is None else ttl
    return [
        ("finished_at", PdfJob.objects.ended_before(age)),
        ("queued_at", PdfJob.objects.waiting_since_before(age)),
    ]


def orphans() -> Iterator[list[str]]:
    """Return the keys of files that no job calls its own, once they are too old to belong to one in the making.

    One list for each batch that was looked at, also an empty one.
    """
    cutoff = timezone.now() - ORPHANED_AFTER  # against the clock of the disk or bucket, not of the database
    aged = (file.key for file in artifacts.list_files() if file.modified_at < cutoff)
    while batch := list(islice(aged, BATCH)):
        owned = keys_in_use(batch)
        yield [key for key in batch if key not in owned]


def keys_in_use(keys: Iterable[str]) -> set[str]:
    """Return those keys that their jobs' rows know."""
    jobs = {job for key in keys if (job := artifacts.job_id_of(key))}
    return set(PdfJob.objects.filter(pk__in=jobs).exclude(artifact_key="").values_list("artifact_key", flat=True))


def _delete(key: str) -> bool:
    artifacts.delete(key)
    return True


def _files(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
