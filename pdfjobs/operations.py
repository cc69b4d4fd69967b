"""What operators do with PDF jobs, in bulk and one by one."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, Exists, OuterRef, Q, Value, When
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.bulk.operations import BatchOperation, OperationUnavailable
from kilit.bulk.queues import BulkQueue
from kilit.workers import doorbells
from pdfjobs import cleanup
from pdfjobs.filters import FILTERS
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import LIVE, PDF_JOBS, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable

ALREADY_QUEUED = gettext_noop("the same document was requested again")


class PdfJobOperation(BatchOperation):
    table = PDF_JOBS
    model = PdfJob


class RetryPdfJobs(PdfJobOperation):
    def with_skip_reason(self, rows: PdfJobQuerySet) -> PdfJobQuerySet:
        """Predict what the index of live keys decides: of several jobs with the same key only the oldest is retried."""
        same = {"owner": OuterRef("owner"), "job_key": OuterRef("job_key")}
        live = PdfJob.objects.filter(status__in=LIVE, **same)
        older = rows.filter(status=PdfStatus.FAILED, pk__lt=OuterRef("pk"), **same)
        taken = Q(status=PdfStatus.FAILED) & (Q(Exists(live)) | Q(Exists(older)))
        reason = Case(When(taken, then=Value(ALREADY_QUEUED)), default=Value(""), output_field=CharField())
        return rows.annotate(skip_reason=reason)

    def move(self, rows: PdfJobQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        moved = rows.retry_selected()
        doorbells.ring(PDF_JOBS.queue)
        return moved


class ExpirePdfJobs(PdfJobOperation):
    def move(self, rows: PdfJobQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        try:
            return cleanup.expire(rows)
        except StorageUnavailable as error:
            message = _("The storage of PDF files does not answer, so nothing was expired: %(error)s")
            raise OperationUnavailable(message % {"error": error}) from None


RETRY = RetryPdfJobs("retry", "retry_selected")
EXPIRE = ExpirePdfJobs("expire", "expire")
QUEUE = BulkQueue(
    PDF_JOBS,
    PdfJob,
    FILTERS,
    (RETRY, EXPIRE),
    title=_("PDF documents"),
    well=(PdfStatus.SUCCEEDED,),
    badly=(PdfStatus.FAILED,),
    paused_title=_("PDF queue paused by %(person)s"),
)
