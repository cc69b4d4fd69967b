"""What the endpoints share: the base view, and the response while no worker is available."""

import logging
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from kilit.access.roles import has_permission
from kilit.api.errors import ApiError
from kilit.api.job_views import QueueView
from pdfjobs.documents import DocumentError, UnknownTemplateError
from pdfjobs.job_request import JobRequest
from pdfjobs.models import PdfJob
from pdfjobs.models.job import PdfJobQuerySet
from pdfjobs.states import ErrorCode, FailSafe
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

RETRY_AFTER = 15  # seconds; a supervisor has replaced a lost cluster by then
STORE_DOWN = "The storage of PDF files does not answer; nothing was changed."
# The page shows a caller's text under our domain, so it may load nothing but itself.
HEADERS = {
    "X-Pdf-Fallback": "html",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; sandbox",
}


class AnyAccept(DefaultContentNegotiation):
    """Ignores `Accept`: the job's state decides between JSON, PDF and HTML, and errors are always JSON."""

    takes_any = True  # the schema omits 406

    def select_renderer(self, request: HttpRequest, renderers: Any, format_suffix: str | None = None) -> object:
        return renderers[0], renderers[0].media_type


class PdfView(QueueView):
    """Serves the caller's own jobs; those of others do not exist for it."""

    tag = "PDF"
    model = PdfJob
    errors: ClassVar = {503: {"PDF_STORE_UNAVAILABLE": STORE_DOWN}}
    content_negotiation_class = AnyAccept

    def check_permissions(self, request: Request) -> None:
        """Require the operator role: scripts and viewers may not fill the queue, share documents or delete them."""
        super(QueueView, self).check_permissions(request)  # everyone may read their own
        if request.method not in SAFE_METHODS and not has_permission(request.user, "pdfjobs.operate_pdfjob"):
            raise PermissionDenied("Requesting, sharing and deleting documents needs the operator role.")

    def rows(self, request: Request) -> PdfJobQuerySet:
        return PdfJob.objects.owned_by(request.user).select_related("owner")

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, artifacts.StorageUnavailable):
            exc = ApiError(503, "PDF_STORE_UNAVAILABLE", STORE_DOWN, retry_after=RETRY_AFTER)
        if isinstance(exc, UnknownTemplateError):
            exc = ApiError(400, exc.code, str(exc), allowed=exc.allowed)
        return super().handle_exception(exc)


class OnePdfView(PdfView):
    parameters = (OpenApiParameter("job_id", UUID, OpenApiParameter.PATH, description="The job's id."),)
    errors: ClassVar = {**PdfView.errors, 404: {"NOT_FOUND": "There is no such job, or it belongs to another user."}}


def fallback_response(request: JobRequest) -> HttpResponse:
    """Answer instead of a worker, as the caller wishes. Nothing is stored."""
    if request.fail_safe == FailSafe.STRICT:
        message = "No worker is available to render PDFs; nothing was stored."
        raise ApiError(503, "PDF_RENDER_UNAVAILABLE", message, retry_after=RETRY_AFTER)
    try:
        return HttpResponse(request.document.html(request.variables), headers=HEADERS)
    except DocumentError as error:
        # The place in the template is for operators only.
        logger.error("cannot render %s as HTML: %s", request.document.name, error)
        message = "The document cannot be rendered as requested; the server's log has the reason."
        if error.code == ErrorCode.DOCUMENT_TOO_LARGE:
            message = "The document is too large: ask for less."
        raise ApiError(400, error.code, message) from None


def created_body(job: PdfJob) -> dict[str, object]:
    return {"job_id": job.job_id, "status": job.status, "created_at": job.created_at}
