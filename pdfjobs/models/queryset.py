"""Queries over PDF jobs, and their verbs in bulk."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.lock.leases import LeasedQuerySet, new_lease, no_lease
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.priorities import TurnTime
from kilit.lock.text import strip_control_chars
from pdfjobs.states import FINISHED, LIVE, MAX_RETRIES, PDF_JOBS, RETRYABLE, ErrorCode, PdfStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from pdfjobs.models.job import PdfJob

LONGEST_DETAIL = 2000
# On top of its timeout a job may launch a browser (10 s) and store its file; after that its worker counts as dead.
LEASE_BEYOND_TIMEOUT = timedelta(seconds=30)

# The index pdf_turn serves it.
TURN = TurnTime("queued_at", "priority")
ORDER = (TURN, "id")

MAY_RETRY = Q(error_code__in=RETRYABLE, retry_count__lt=MAX_RETRIES)
# Nothing of the last attempt stays in the row; the events have it.
FRESH = {"error_code": "", "error_detail": "", "started_at": None, "finished_at": None}

# Rows are kept permanently; variables, options and error details may contain personal data and are deleted.
ENDED: dict[str, Any] = {
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

    def claim(self) -> list["PdfJob"]:
        """Claim the job whose turn it is: by waiting time and priority. A retried job waits behind the others."""
        lease = new_lease(F("timeout") + LEASE_BEYOND_TIMEOUT)
        return self.claimable().take("claim", limit=1, order=ORDER, started_at=Now(), **lease)

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
        return self.move_each("expire", **ENDED)
