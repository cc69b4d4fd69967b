"""A PDF job: its state, lease, attempts and error are all in its row. Render times are a histogram of ten rows."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple, Self
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.column_guards import Counters
from kilit.lock.compiled_moves import CompiledMoveOfIds
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.fast_sql import parameter
from kilit.lock.guard import MoveRefused
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.lock.leases import LeasedModel, LeasedQuerySet, lease_check, no_lease
from kilit.lock.models import Event
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.prefixes import prefix_index
from kilit.lock.priorities import Priority, priority_field
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import erasing, lifecycle_triggers
from pdfjobs.documents.definition import LONGEST_NAME
from pdfjobs.models.turns import ORDER, TurnClaim
from pdfjobs.states import FINISHED, LIVE, MAX_RETRIES, PDF_JOBS, RETRYABLE, UNFINISHED, ErrorCode, PdfStatus

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
LONGEST_TIMEOUT = timedelta(seconds=60)
STORAGE_WAIT = timedelta(minutes=2)  # before a PDF that could not be stored is rendered again
FAILURES = Failures(PDF_JOBS, message="error_detail")

# Seconds. One page takes tenths of a second; a render is ended after a minute.
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, float("inf"))
COUNT_RENDER = """
    INSERT INTO pdfjobs_rendertiming AS timing (bound, renders, seconds)
    SELECT (SELECT min(bound) FROM unnest(%s::float[]) AS bounds (bound) WHERE job.seconds <= bound), 1, seconds
    FROM (
      SELECT extract(epoch FROM finished_at - started_at)::float AS seconds FROM pdfjobs_pdfjob WHERE id = %s
    ) AS job
    ON CONFLICT (bound) DO UPDATE SET renders = timing.renders + 1, seconds = timing.seconds + excluded.seconds
"""


class FailResult(NamedTuple):
    failed: set[UUID]
    retried: set[UUID]


class PdfJobQuerySet(LeasedQuerySet["PdfJob"]):
    def owned_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self.filter(owner=user.pk)

    def listed_for(self, user: AbstractBaseUser | AnonymousUser, *, status: str | None) -> Self:
        """Return a user's jobs, newest first, perhaps of one state.

        The leading column of the order is compared as a range, so that only the index that begins with it serves.
        """
        if status is None:
            return self.filter(owner__gte=user.pk, owner__lte=user.pk).order_by("-owner_id", "-id")
        return self.owned_by(user).filter(status__gte=status, status__lte=status).order_by("-status", "-id")

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
        """Return what a worker may claim now: nothing while the queue is paused, and no retry before its time."""
        return self.due().filter(is_not_paused(PDF_JOBS), queued_at__lte=Now())

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
        job = TurnClaim(self.claimable()).run(served=served)
        return [job] if job else []

    def fail(self, *, code: str, detail: str) -> FailResult:
        """Fail running jobs, and queue those again that may be retried.

        Both moves are one transaction: the history shows both, and the key is never free in between.
        """
        error = {"error_code": ErrorCode(code), "error_detail": strip_control_chars(detail)[:LONGEST_DETAIL]}
        with transaction.atomic():
            failed = self.move_each("fail", finished_at=Now(), **error, **no_lease())
            rows = self.model.objects.filter(MAY_RETRY, pk__in=failed)
            queued_at = Now() + (STORAGE_WAIT if code == ErrorCode.STORAGE_UNAVAILABLE else timedelta(0))
            retried = rows.move_each("retry", queued_at=queued_at, retry_count=F("retry_count") + 1, **FRESH)
        return FailResult(failed, retried)

    def release(self) -> set[UUID]:
        """Give running jobs back for a worker of their version: no retry is used up, and they keep their turn."""
        error = {"error_code": ErrorCode.VERSION_MISMATCH, "error_detail": "Left to a worker of the job's version."}
        with transaction.atomic():
            released = self.move_each("fail", finished_at=Now(), **error, **no_lease())
            return self.model.objects.filter(pk__in=released).move_each("retry", **FRESH)

    def recover(self) -> FailResult:
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
        """End jobs; their files must be deleted already. Events lose what failures quoted from the variables."""
        with transaction.atomic():
            expired = self.move_each("expire", **ENDED)
            if expired:
                with erasing():
                    events = Event.objects.filter(queue=PDF_JOBS.queue, object_id__in=expired)
                    quoting = events.filter(details__error_detail__gt="")
                    quoting.update(details=RawSQL("details - 'error_detail'", ()))
        return expired


class RenderTiming(models.Model):
    """Renders that took at most `bound` seconds and longer than the previous bound, and their total time."""

    bound = models.FloatField(primary_key=True)
    renders = models.BigIntegerField()
    seconds = models.FloatField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"up to {self.bound} s: {self.renders}"


class PdfJob(LeasedModel):
    lifecycle = PDF_JOBS

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="pdf_jobs")
    status = models.CharField(max_length=10, choices=PdfStatus, default=PdfStatus.QUEUED, editable=False)
    job_key = models.CharField(max_length=64, help_text="SHA-256 of everything that determines the document.")
    template_name = models.CharField(_("template"), max_length=64)
    # What people call the document, out of its variables.
    document_number = models.CharField(_("document"), max_length=LONGEST_NAME, blank=True, db_default="")
    recipient = models.CharField(_("recipient"), max_length=LONGEST_NAME, blank=True, db_default="")
    payload = models.JSONField("variables", default=dict)
    options = models.JSONField(default=dict)
    timeout = models.DurationField(_("timeout"), default=LONGEST_TIMEOUT)
    artifact_key = models.CharField(max_length=200, blank=True)
    artifact_size = models.PositiveIntegerField(null=True, help_text="In bytes.")
    artifact_digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the file; its ETag.")
    error_code = models.CharField(max_length=32, choices=ErrorCode, blank=True)
    error_detail = models.TextField(blank=True, help_text="For operators; callers see only the code.")
    error_group = error_group_field()
    retry_count = models.PositiveSmallIntegerField("retries", default=0)
    priority = priority_field()
    queued_at = models.DateTimeField(_("queued at"), db_default=Now())
    started_at = models.DateTimeField(_("started at"), null=True)
    finished_at = models.DateTimeField(_("finished at"), null=True)

    objects = PdfJobQuerySet.as_manager()

    class Meta(LeasedModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("PDF job"), _("PDF jobs")
        # The error code is the scope of the counts, so failures per code are read without counting rows.
        triggers = [
            *lifecycle_triggers(
                PDF_JOBS,
                scope="error_code",
                facts=["template_name", "error_code", "error_detail", "retry_count", "artifact_key"],
                fixed=["owner_id", "job_key", "template_name"],
                counters=Counters(changed_by={"retry_count": ["retry", "retry_selected", "undo_retry"]}),
            ),
            *FAILURES.triggers(),
        ]
        constraints = [
            # Requests for the same document at once: this index decides that one job is created and the others find it.
            models.UniqueConstraint(
                fields=["owner", "job_key"], condition=Q(status__in=LIVE), name="one_live_pdf_job_per_key"
            ),
            lease_check(PDF_JOBS),
            *checks(
                begun_pdf_has_started_at=~Q(status__in=[PdfStatus.RUNNING, PdfStatus.SUCCEEDED])
                | Q(started_at__isnull=False),
                only_ended_pdf_has_finished_at=Q(status__in=UNFINISHED, finished_at=None)
                | ~Q(status__in=UNFINISHED) & Q(finished_at__isnull=False),
                only_succeeded_pdf_has_artifact=~Q(artifact_key="") & Q(status=PdfStatus.SUCCEEDED)
                | Q(artifact_key="") & ~Q(status=PdfStatus.SUCCEEDED),
                succeeded_pdf_is_described=~Q(status=PdfStatus.SUCCEEDED)
                | Q(~Q(artifact_digest=""), artifact_size__isnull=False),
                failed_pdf_has_error_code=Q(status=PdfStatus.FAILED, error_code__in=ErrorCode.values)
                | Q(status=PdfStatus.EXPIRED)
                | Q(error_code="", error_detail="") & ~Q(status=PdfStatus.FAILED),
                # Whatever the code does, no job is retried endlessly.
                pdf_retries_are_bounded=Q(retry_count__lte=MAX_RETRIES),
                pdf_priority_is_known=Q(priority__in=Priority.values),
                pdf_timeout_is_bounded=Q(timeout__gt=timedelta(0), timeout__lte=LONGEST_TIMEOUT),
            ),
        ]
        indexes = [
            # The oldest waiting job. Finished jobs are not in it.
            models.Index(fields=["queued_at", "id"], condition=Q(status=PdfStatus.QUEUED), name="pdf_due"),
            # Claims: the owners with waiting jobs, and the job of an owner whose turn it is.
            models.Index("owner", *ORDER, condition=Q(status=PdfStatus.QUEUED), name="pdf_turn_of_owner"),
            # The reaper: lapsed leases.
            models.Index(fields=["lease_until"], condition=Q(status=PdfStatus.RUNNING), name="pdf_held"),
            # The cleanup: jobs that finished long ago.
            models.Index(fields=["finished_at"], condition=Q(status__in=FINISHED), name="pdf_ended"),
            # Lists of a state, template or owner, and the search by key.
            models.Index(fields=["status", "id"], name="pdf_in_status"),
            models.Index(fields=["template_name", "id"], name="pdf_of_template"),
            models.Index(fields=["job_key"], name="pdf_by_key"),
            models.Index(fields=["owner", "id"], name="pdf_of_owner"),
            # An owner's list of a state, in the API.
            models.Index(fields=["owner", "status", "id"], name="pdf_of_owner_in_status"),
            # Operators search by the beginning of a document's number or its recipient.
            prefix_index("pdf_number_prefix", "document_number"),
            prefix_index("pdf_recipient_prefix", "recipient"),
            # Lists of an error group or code.
            FAILURES.index("pdf_of_error_group"),
            models.Index(fields=["error_code", "id"], condition=Q(status=PdfStatus.FAILED), name="pdf_of_code"),
        ]

    @property
    def job_id(self) -> str:
        return str(self.pk)

    def succeed(self, *, artifact_key: str, size: int, digest: str) -> Self:
        """Finish the job; only the holder of the claim can. The row, with its variables, is read only when refused."""
        artifact = {"artifact_key": artifact_key, "artifact_size": size, "artifact_digest": digest}
        with transaction.atomic():
            if not _success().run([self.pk], token=self.claim_token, **artifact):
                self.refresh_from_db()
                raise MoveRefused(self, "succeed", self.status)
            with connection.cursor() as cursor:
                cursor.execute(COUNT_RENDER, [list(BOUNDS), self.pk])
        return self

    @property
    def seconds(self) -> float | None:
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


@cache
def _success() -> CompiledMoveOfIds:
    held = PdfJob.objects.filter(claim_token=parameter("token", models.UUIDField()))
    artifact = {
        "artifact_key": parameter("artifact_key", models.CharField()),
        "artifact_size": parameter("artifact_size", models.IntegerField()),
        "artifact_digest": parameter("artifact_digest", models.CharField()),
    }
    return CompiledMoveOfIds(held, "succeed", finished_at=Now(), **artifact, **no_lease())
