"""The endpoints: templates, jobs and downloads."""

import logging
from http import HTTPStatus
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import given_key
from kilit.api import openapi
from kilit.api.errors import DATABASE_DOWN, ApiError
from kilit.api.openapi import ApiResponse, endpoint
from kilit.lock.priorities import Priority
from kilit.workers.models import Heartbeat
from pdfjobs.api.views import RETRY_AFTER, OnePdfView, PdfView, fallback_response
from pdfjobs.documents import Document, documents
from pdfjobs.documents.fields import walk
from pdfjobs.enqueue import QueueFullError, enqueue, expire_missing
from pdfjobs.file_response import ArtifactMissingError, file_response
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.schemas import PdfJobCreated, PdfJobDetail, PdfRequest, PdfTemplate, PdfTemplates
from pdfjobs.states import UNFINISHED, ErrorCode, PdfStatus

logger = logging.getLogger(__name__)

POLL_AFTER = 2  # seconds
FAILED = {True: "Failed after automatic retries: {}.", False: "Failed: {}."}
WHERE = {"Location": "Where to check the job's status."}
PDF = {"application/pdf": {"type": "string", "format": "binary"}}
FILE = {
    "ETag": "The digest of the file.",
    "Accept-Ranges": "`bytes`.",
    "Content-Disposition": "The file's name.",
    "Cache-Control": "May be cached, but must be revalidated.",
}


class TemplatesView(PdfView):
    @endpoint(PdfTemplates)
    def get(self, request: Request) -> Response:
        """List the templates.

        Each with its variables and a sample that can be sent as it is.
        """
        return Response({"templates": [describe_template(document) for document in documents()]})


class PdfJobsView(PdfView):
    @endpoint(
        answers={
            200: ApiResponse(
                "The job that exists already; or the document as HTML, because no worker is available.",
                PdfJobCreated,
                media={"text/html": {"type": "string"}},
                optional_headers={**WHERE, "X-Pdf-Fallback": "`html`, when the body is the document and not a job."},
            ),
            201: ApiResponse("A new job.", PdfJobCreated, headers=WHERE),
        },
        body=PdfRequest,
        reads=False,
        errors={
            400: {
                ErrorCode.TEMPLATE_ERROR.value: "There is no such template, or the variables do not suit it.",
                ErrorCode.UNSUPPORTED_PLATFORM.value: "This server cannot render PDFs.",
            },
            429: {"QUEUE_FULL": "Too many jobs are waiting."},
            503: {"PDF_RENDER_UNAVAILABLE": "No worker is available; nothing was stored."},
        },
    )
    def post(self, request: Request) -> Response | HttpResponse:
        """Request a document.

        While a job for the same document is queued, running or stored, that job is returned.
        """
        job_request = parse_job_request(request.data)
        if not Heartbeat.objects.alive().exists():
            return fallback_response(job_request)
        try:
            job, is_new = enqueue(cast("User", request.user), job_request)
        except RenderError as error:
            logger.error("cannot render PDFs: %s", error)  # noqa: TRY400 - a missing browser needs no traceback
            raise ApiError(400, error.code, "This server cannot render PDFs.") from None
        except QueueFullError:
            message = "Too many jobs are waiting; try again later."
            raise ApiError(429, "QUEUE_FULL", message, retry_after=RETRY_AFTER) from None
        location = request.build_absolute_uri(reverse("pdf-job", args=[job.job_id]))
        return Response(created_body(job), status=201 if is_new else 200, headers={"Location": location})

    def handle_exception(self, exc: Exception) -> Any:
        """Without a database keys cannot be checked: a caller who sends one gets its own variables back as HTML."""
        if isinstance(exc, DATABASE_DOWN) and given_key(self.request):
            try:
                return fallback_response(parse_job_request(self.request.data))
            except Exception as error:  # noqa: BLE001 - any error of the request gets its usual response
                exc = error
        return super().handle_exception(exc)


class PdfJobView(OnePdfView):
    @endpoint(PdfJobDetail)
    def get(self, request: Request, job_id: str) -> Response:
        """Get a job's status."""
        job = self.job(request, job_id)
        is_ready = job.status == PdfStatus.SUCCEEDED
        url = request.build_absolute_uri(reverse("pdf-download", args=[job.job_id])) if is_ready else None
        body = {
            **created_body(job),
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "error_code": job.error_code or None,
            "download_url": url,
            "retry_count": job.retry_count,
            "priority": Priority(job.priority).api_name,
        }
        return Response(body)


class DownloadView(OnePdfView):
    @endpoint(
        answers={
            200: ApiResponse("The PDF.", media=PDF, headers=FILE),
            202: ApiResponse("Not finished yet.", PdfJobCreated, headers={"Retry-After": openapi.RETRY_AFTER}),
            206: ApiResponse("A part of the PDF.", media=PDF, headers={**FILE, "Content-Range": "Which part it is."}),
            304: ApiResponse("Your copy is current.", headers={"ETag": FILE["ETag"]}),
        },
        parameters=[
            OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range, such as `bytes=0-1023`."),
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The `ETag` of your copy."),
        ],
        errors={
            409: {code.value: FAILED[code.retryable].format(code.label) for code in ErrorCode},
            410: {"EXPIRED": "No longer available; request the document again."},
            416: {"RANGE_NOT_SATISFIABLE": "The range is beyond the end of the file."},
        },
    )
    def get(self, request: Request, job_id: str) -> Response | HttpResponseBase:
        """Download the PDF.

        HEAD returns the same headers without the file.
        """
        job = self.job(request, job_id)
        if job.status in UNFINISHED:
            return Response(created_body(job), status=202, headers={"Retry-After": str(POLL_AFTER)})
        if job.status == PdfStatus.FAILED:
            message = f"The PDF could not be rendered: {ErrorCode(job.error_code).label}."
            raise ApiError(409, job.error_code, message, job_id=job.job_id, state=job.status)
        if job.status == PdfStatus.SUCCEEDED:
            try:
                return self.checked(file_response(request, job, as_attachment=True), job)
            except ArtifactMissingError:
                expire_missing(job)
        message = "The PDF is no longer available; request the document again."
        raise ApiError(410, "EXPIRED", message, job_id=job.job_id)

    def checked(self, response: HttpResponseBase, job: PdfJob) -> HttpResponseBase:
        """Give a range beyond the end the body of all API errors."""
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self.headers["Content-Range"] = response["Content-Range"]
            message = f"The PDF has {job.artifact_size:,} bytes; the range is beyond its end."
            raise ApiError(response.status_code, "RANGE_NOT_SATISFIABLE", message, size=job.artifact_size)
        return response

    head = get


def describe_template(document: Document) -> PdfTemplate:
    return {
        "name": document.name,
        "title": document.title,
        "variables": [
            {"path": path, "about": field.description or "", "allowed": allowed, "required": field.is_required()}
            for path, allowed, field in walk(document.model)
        ],
        "sample": document.sample,
    }


def created_body(job: PdfJob) -> dict[str, Any]:
    return {"job_id": job.job_id, "status": job.status, "created_at": job.created_at}
