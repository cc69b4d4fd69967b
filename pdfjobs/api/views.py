"""What all views of the PDF queue share."""

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
    """Answers JSON, PDF or HTML as the job's state has it: whoever asks for a PDF must be able to read a refusal."""

    takes_any = True  # so no endpoint says 406

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class PdfView(APIView):
    """A view of one user's jobs: those of others are answered like jobs that do not exist."""

    content_negotiation_class = AnyAccept

    def check_permissions(self, request: Request) -> None:
        """Ask for the operator's role to have documents made: a site's script or a viewer may not fill the queue.

        What somebody has had made they may fetch, whatever their role is now.
        """
        super().check_permissions(request)
        if request.method not in SAFE_METHODS and not request.user.has_perm("pdfjobs.operate_pdfjob"):
            raise PermissionDenied("You may not have documents made; that takes the operator role.")

    def job(self, request: Request, job_id: str) -> PdfJob:
        """Return the user's job of that id."""
        try:
            pk = UUID(job_id)
        except ValueError:
            raise NotFound("There is no such job.") from None
        job = PdfJob.objects.owned_by(request.user).filter(pk=pk).select_related("owner").first()
        if job is None:
            raise NotFound("There is no such job.")
        return job

    def handle_exception(self, exc: Exception) -> Any:
        """Say in the API's words that the place of files does not answer."""
        if isinstance(exc, artifacts.StorageUnavailable):
            words = "The store of PDF files does not answer; nothing was changed."
            exc = ApiError(503, "PDF_STORE_UNAVAILABLE", words, retry_after=RETRY_AFTER)
        return super().handle_exception(exc)
