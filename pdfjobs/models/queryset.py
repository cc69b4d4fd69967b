"""Queries over PDF jobs, and their verbs in bulk."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Now

from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.lock.leases import LeasedQuerySet, no_lease
from kilit.lock.models import Event
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import erasing
from pdfjobs.models.statements import Claim
from pdfjobs.states import FINISHED, LIVE, MAX_RETRIES, PDF_JOBS, RETRYABLE, ErrorCode, PdfStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from pdfjobs.models.job import PdfJob

LONGEST_DETAIL = 2000

MAY_RETRY = Q(error_code__in=RETRYABLE, retry_count__lt=MAX_RETRIES)
# Nothing of the last attempt stays in the row; the events have it.
FRESH = {"error_code": "", "error_detail": "", "started_at": None, "finished_at": None}

# Rows are kept permanently; variables, options and error details may contain personal data and are deleted.
ENDED: dict[str, object] = {
    "artifact_key": "",
    "recipient": "",
    "payload": {},
    "options": {},
    "error_detail": "",
    "finished_at": Coalesce("finished_at", Now()),
}


class FailResult(NamedTuple):
    failed: set[UUID]
    retried: set[UUID]


class PdfJobQuerySet(LeasedQuerySet["PdfJob"]):
    def owned_by(self, user: "AbstractBaseUser | AnonymousUser") -> Self:
        return self.filter(owner=user.pk)

    def listed_for(self, user: "AbstractBaseUser | AnonymousUser", *, status: str | None, cursor: UUID | None) -> Self:
        """Return a user's jobs, newest first, perhaps of one state, after the last one of a page.

        The leading column of the order is compared as a range, so that only the index that begins with it serves.
        """
        rows = self.filter(pk__lt=cursor) if cursor else self
        if status is None:
            return rows.filter(owner__gte=user.pk, owner__lte=user.pk).order_by("-owner_id", "-id")
        return rows.owned_by(user).filter(status__gte=status, status__lte=status).order_by("-status", "-id")

    def created_between(self, after: datetime | None, before: datetime | None) -> Self:
        """Return jobs by their time; ids carry it, so the index of a list ends there, too."""
        rows = self
        if after is not None:
            rows = rows.filter(created_at__gte=after, pk__gte=first_at(after - CLOCKS_DIFFER_BY))
        if before is not None:
            rows = rows.filter(created_at__lt=before, pk__lt=first_at(before + CLOCKS_DIFFER_BY))
        return rows

    def live(self) -> Self:
        return self.filter(status__in=LIVE)

    def due(self) -> Self:
        return self.filter(status=PdfStatus.QUEUED)

    def claimable(self) -> Self:
        """Return what a worker may claim now: nothing while the queue is paused."""
        return self.due().filter(is_not_paused(PDF_JOBS))

    def held_too_long(self) -> Self:
        return self.filter(status=PdfStatus.RUNNING).lapsed()

    def ended_before(self, age: timedelta) -> Self:
        return self.filter(status__in=FINISHED, finished_at__lt=Now() - age)

    def waiting_since_before(self, age: timedelta) -> Self:
        return self.due().filter(queued_at__lt=Now() - age)

    def claim(self, *, served: Sequence[int] = ()) -> list["PdfJob"]:
        """Claim the job whose turn it is. `served` are the owners that the worker served before, the last one last.

        Owners take turns; among an owner's jobs waiting time and priority decide. A retried job is behind them.
        """
        claimed = Claim(self).run(served=served)
        return [claimed.job] if claimed else []

    def fail(self, *, code: str, detail: str) -> FailResult:
        """Fail running jobs, and queue those again that may be retried.

        Both moves are one transaction: the history shows both, and the key is never free in between.
        """
        error = {"error_code": ErrorCode(code), "error_detail": strip_control_chars(detail)[:LONGEST_DETAIL]}
        with transaction.atomic():
            failed = self.move_each("fail", finished_at=Now(), **error, **no_lease())
            rows = self.model.objects.filter(MAY_RETRY, pk__in=failed)
            retried = rows.move_each("retry", queued_at=Now(), retry_count=F("retry_count") + 1, **FRESH)
        return FailResult(failed, retried)

    def leave(self) -> set[UUID]:
        """Give running jobs back for a worker of their version: no retry is used up, and they keep their turn."""
        error = {"error_code": ErrorCode.VERSION_MISMATCH, "error_detail": "Left to a worker of the job's version."}
        with transaction.atomic():
            left = self.move_each("fail", finished_at=Now(), **error, **no_lease())
            return self.model.objects.filter(pk__in=left).move_each("retry", **FRESH)

    def reap(self) -> FailResult:
        """Fail jobs whose worker died or hangs; this uses up a retry, so a crash does not repeat endlessly."""
        return self.held_too_long().fail(code=ErrorCode.WORKER_LOST, detail="The worker's lease ran out.")

    def retry_selected(self) -> set[UUID]:
        """Queue failed jobs again for an operator, with new automatic retries.

        One by one, because the index of live keys decides: a job is skipped when a newer one has its key.
        """
        moved: set[UUID] = set()
        for pk in self.order_by("pk").values_list("pk", flat=True):
            with suppress(IntegrityError), transaction.atomic():
                row = self.model.objects.filter(pk=pk)
                moved |= row.move_each("retry_selected", queued_at=Now(), retry_count=0, **FRESH)
        return moved

    def expire(self) -> set[UUID]:
        """End jobs; their files must be deleted already."""
        with transaction.atomic():
            expired = self.move_each("expire", **ENDED)
            forget_error_details(expired)
        return expired


def forget_error_details(expired: Collection[UUID]) -> None:
    """Delete what failures quoted from the variables from the events of expired jobs; the error codes stay."""
    if not expired:
        return
    with erasing():
        events = Event.objects.filter(queue=PDF_JOBS.queue, object_id__in=expired, details__error_detail__gt="")
        events.update(details=RawSQL("details - 'error_detail'", ()))
