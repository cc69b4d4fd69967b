"""The base view of the PDF API."""

from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.views import APIView

from kilit.api.errors import ApiError
from pdfjobs.api.fallback import RETRY_AFTER
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts


class AnyAccept(DefaultContentNegotiation):
    """Ignores `Accept`: the job's state decides between JSON, PDF and HTML, and errors are always JSON."""

    takes_any = True  # the schema omits 406

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class PdfView(APIView):
    """Serves the caller's own jobs; those of others do not exist for it."""

    content_negotiation_class = AnyAccept

    def check_permissions(self, request: Request) -> None:
        """Require the operator role for requests: scripts and viewers may not fill the queue."""
        super().check_permissions(request)
        if request.method not in SAFE_METHODS and not request.user.has_perm("pdfjobs.operate_pdfjob"):
            raise PermissionDenied("Requesting documents needs the operator role.")

    def job(self, request: Request, job_id: str) -> PdfJob:
        try:
            pk = UUID(job_id)
        except ValueError:
            raise NotFound("There is no such job.") from None
        job = PdfJob.objects.owned_by(request.user).filter(pk=pk).select_related("owner").first()
        if job is None:
            raise NotFound("There is no such job.")
        return job

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, artifacts.StorageUnavailable):
            message = "The storage of PDF files does not answer; nothing was changed."
            exc = ApiError(503, "PDF_STORE_UNAVAILABLE", message, retry_after=RETRY_AFTER)
        return super().handle_exception(exc)
