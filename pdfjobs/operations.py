"""How the list of PDF jobs is narrowed, and what operators do with them."""

import hashlib
from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Case, CharField, Exists, OuterRef, Q, Value, When
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.batches.filters import ChoiceFilter
from kilit.batches.item_filter import queue_filters
from kilit.batches.operations import BatchOperation, OperationUnavailable
from kilit.batches.search import PrefixSearch, by
from kilit.workers import doorbells
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.models.job import FAILURES, PdfJobQuerySet
from pdfjobs.states import LIVE, PDF_JOBS, ErrorCode, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable

MOST_OWNERS = 100
ALREADY_QUEUED = gettext_noop("the same document was requested again")


def by_key(text: str) -> Q | None:
    return Q(job_key=text) if len(text) == len(hashlib.sha256().hexdigest()) else None


def by_owner(text: str) -> Q:
    # Two queries: with the owners' ids the planner knows how many jobs there are and uses their index.
    owners = get_user_model().objects.filter(username__words=text).values_list("pk", flat=True)
    return Q(owner__in=list(owners[:MOST_OWNERS]))


FILTERS = queue_filters(
    FAILURES,
    ChoiceFilter(
        name="template",
        title=_("template"),
        column="template_name",
        index="pdf_of_template",
        leads=True,
        choices=lambda _user: [(name, name) for name in settings.PDF_TEMPLATES],
    ),
    ChoiceFilter(
        name="code",
        title=_("error code"),
        column="error_code",
        index="pdf_of_code",
        leads=True,
        where=Q(status=PdfStatus.FAILED),
        choices=[(code, code) for code in ErrorCode.values],
    ),
    search=PrefixSearch((by("document_number"), by("recipient"), by_key, by_owner)),
)


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

    def move(self, rows: PdfJobQuerySet, options: Mapping[str, object]) -> set[UUID]:
        moved = rows.retry_selected()
        doorbells.ring(PDF_JOBS.queue)
        return moved


class ExpirePdfJobs(PdfJobOperation):
    def move(self, rows: PdfJobQuerySet, options: Mapping[str, object]) -> set[UUID]:
        try:
            return cleanup.expire(rows)
        except StorageUnavailable as error:
            message = _("The storage of PDF files does not answer, so nothing was expired: %(error)s")
            raise OperationUnavailable(message % {"error": error}) from None


RETRY = RetryPdfJobs("retry", "retry_selected")
EXPIRE = ExpirePdfJobs("expire", "expire")
