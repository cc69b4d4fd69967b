"""Questions about PDF jobs, and their verbs in bulk."""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from kilit.lock.leases import LeasedQuerySet, new_lease, no_lease
from kilit.lock.text import strip_control_chars
from pdfjobs.states import LIVE, MAX_RETRIES, TRANSIENT, ErrorCode, Status

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from pdfjobs.models.job import PdfJob

LONGEST_DETAIL = 2000
# Beside its own timeout a job may launch a browser (10 s) and store its file; then its worker is taken for dead.
LEASE_BEYOND_TIMEOUT = timedelta(seconds=30)

IS_TRANSIENT = Q(error_code__in=TRANSIENT, retry_count__lt=MAX_RETRIES)
NO_ERROR = {"error_code": "", "error_detail": ""}
# Back to how it was born: nothing of the attempt before is left but in the timeline.
FRESH = {**NO_ERROR, "started_at": None, "finished_at": None}

# What the document was made of goes with it: rows stay for ever, and people's names are in variables, titles, headers
# and in what a worker said of them.
ENDED: dict[str, Any] = {
    "artifact_key": "",
    "payload": {},
    "options": {},
    "error_detail": "",
    "finished_at": Coalesce("finished_at", Now()),
}


class Failed(NamedTuple):
    """What became of jobs that failed."""

    failed: set[UUID]
    retried: set[UUID]


class PdfJobQuerySet(LeasedQuerySet["PdfJob"]):
    """Questions about jobs, and their verbs in bulk."""

    def owned_by(self, user: "AbstractBaseUser | AnonymousUser") -> Self:
        """Return one user's jobs: to anybody else they do not exist."""
        return self.filter(owner=user.pk)

    def live(self) -> Self:
        """Return the jobs whose key is taken; an index allows one for each owner and key."""
        return self.filter(status__in=LIVE)

    def due(self) -> Self:
        return self.filter(status=Status.QUEUED)

    def held_too_long(self) -> Self:
        """Return what a worker holds beyond its lease: what the reaper would take now."""
        return self.filter(status=Status.RUNNING).lapsed()

    def ended_before(self, age: timedelta) -> Self:
        """Return jobs that succeeded or failed so long ago that nobody comes for them."""
        return self.filter(status__in=[Status.SUCCEEDED, Status.FAILED], finished_at__lt=Now() - age)

    def waiting_since_before(self, age: timedelta) -> Self:
        """Return jobs that waited so long that nobody wants them any more."""
        return self.due().filter(queued_at__lt=Now() - age)

    def claim(self, *, limit: int = 1) -> list["PdfJob"]:
        """Hand out what has waited longest; a job tried again waits behind its neighbours."""
        lease = new_lease(F("timeout") + LEASE_BEYOND_TIMEOUT)
        return self.due().take("claim", limit=limit, order=("queued_at", "id"), started_at=Now(), **lease)

    def fail(self, *, code: str, detail: str) -> Failed:
        """Fail running jobs, and queue again those that failed for a passing reason.

        Both moves are one transaction: the history shows each, and nobody meets the job in between.
        """
        error = {"error_code": ErrorCode(code), "error_detail": strip_control_chars(detail)[:LONGEST_DETAIL]}
        with transaction.atomic():
            failed = self.move_each("fail", finished_at=Now(), **error, **no_lease())
            rows = self.model.objects.filter(IS_TRANSIENT, pk__in=failed)
            retried = rows.move_each("retry", queued_at=Now(), retry_count=F("retry_count") + 1, **FRESH)
        return Failed(failed, retried)

    def reap(self) -> Failed:
        """Take jobs away from workers that died or hang; a crash counts as a retry."""
        detail = "The worker died, or did not report in time."
        return self.held_too_long().fail(code=ErrorCode.NAVIGATION_TIMEOUT, detail=detail)

    def retry_selected(self) -> set[UUID]:
        """Queue failed jobs again by an operator's word, each with a fresh budget of retries.

        One by one, because the index of live keys decides: where a newer job has taken the key, the document is being
        made or is there already, and the failed job is left alone.
        """
        moved: set[UUID] = set()
        for pk in self.order_by("pk").values_list("pk", flat=True):
            with suppress(IntegrityError), transaction.atomic():
                row = self.model.objects.filter(pk=pk)
                moved |= row.move_each("retry_selected", queued_at=Now(), retry_count=0, **FRESH)
        return moved

    def expire(self) -> set[UUID]:
        """End jobs for good; their files are gone already."""
        return self.move_each("expire", **ENDED)
