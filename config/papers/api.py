"""The endpoint that prints a job."""

from typing import ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from config.papers.content import KINDS, PaperRefused, PaperRequest, paper_request
from kilit.access.key_scopes import KeyScope
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from orchestrator.api.jobs import read_id
from orchestrator.errors import Code
from orchestrator.workflow import decisions
from pdfjobs.api.jobs import CREATED, CREATING_ERRORS, request_document
from pdfjobs.api.views import PdfView


class PaperView(PdfView):
    tag = "Cutting jobs"
    parameters = (
        OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The job's id."),
        OpenApiParameter("kind", str, OpenApiParameter.PATH, enum=KINDS, description="What to print."),
    )
    errors: ClassVar = {
        **PdfView.errors,
        404: {"NOT_FOUND": "There is no such paper.", Code.JOB_NOT_FOUND.value: "There is no such job."},
    }

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        if not request.user.has_perm("orchestrator.view_job"):
            raise PermissionDenied("You cannot view jobs.")

    @endpoint(
        responses=CREATED,
        body=PaperRequest,
        scope=KeyScope.ENQUEUE,
        errors={**CREATING_ERRORS, 409: {"NOT_PRINTABLE": "The message says what is missing, or which range fits."}},
    )
    def post(self, request: Request, paper: PaperRequest, pk: str, kind: str) -> Response | HttpResponse:
        """Print a job.

        Creates the PDF job of its cutting sheet, labels or offer, as `POST /pdf/jobs` does. A document takes 5,000
        labels or 1,000 parts: print more in several documents, with `first` and `last`.
        """
        if kind not in KINDS:
            raise NotFound(f"There is no such paper. Expected one of {', '.join(KINDS)}.")
        job = decisions.find(read_id(pk))
        try:
            return request_document(request, paper_request(job, kind, paper))
        except PaperRefused as refused:
            raise ApiError(409, "NOT_PRINTABLE", str(refused)) from None
