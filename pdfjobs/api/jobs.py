"""The endpoints for templates and jobs."""

import logging
from functools import partial
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.callbacks import callback_origins
from kilit.api.errors import ApiError
from kilit.api.input_model import InvalidInput
from kilit.api.openapi import ApiResponse, endpoint
from kilit.lock.audit import for_reason
from kilit.lock.outages import DATABASE_DOWN, is_outcome_known
from kilit.lock.priorities import Priority
from kilit.outgoing.urls import parse_url
from pdfjobs import cleanup
from pdfjobs.api import without_database
from pdfjobs.api.views import RETRY_AFTER, OnePdfView, PdfView, created_body, fallback_response
from pdfjobs.documents import Document, documents
from pdfjobs.documents.fields import walk
from pdfjobs.enqueue import (
    MOST_CALLBACKS,
    NoWorkerError,
    QueueFullError,
    TooManyCallbacksError,
    enqueue,
    request_callback,
)
from pdfjobs.job_request import JobRequest, parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.schemas import (
    PdfJobCreated,
    PdfJobDetail,
    PdfJobsPage,
    PdfJobsQuery,
    PdfRequest,
    PdfTemplate,
    PdfTemplates,
)
from pdfjobs.states import ErrorCode, PdfStatus
from pdfjobs.warnings import warnings_of

logger = logging.getLogger(__name__)

WHERE = {"Location": "Where to check the job's status."}


CREATED = {
    200: ApiResponse(
        "The job that exists already; or the document as HTML, because no worker is available.",
        PdfJobCreated,
        media={"text/html": {"type": "string"}},
        optional_headers={**WHERE, "X-Pdf-Fallback": "`html`, when the body is the document and not a job."},
    ),
    201: ApiResponse("A new job.", PdfJobCreated, headers=WHERE),
}
CREATING_ERRORS = {
    400: {
        ErrorCode.TEMPLATE_ERROR.value: "There is no such template, or the variables do not suit it.",
        ErrorCode.DOCUMENT_TOO_LARGE.value: "As HTML, because no worker is available, it has more than 5 MB.",
        ErrorCode.UNSUPPORTED_PLATFORM.value: "This server cannot render PDFs.",
    },
    429: {"QUEUE_FULL": "Too many jobs are waiting."},
    503: {"PDF_RENDER_UNAVAILABLE": "No worker is available; nothing was stored."},
}


class TemplatesView(PdfView):
    @endpoint(PdfTemplates)
    def get(self, request: Request) -> Response:
        """List the templates.

        Each with its variables and a sample that can be sent as it is.
        """
        return Response({"templates": [describe_template(document) for document in documents()]})


class PdfJobsView(PdfView):
    @endpoint(PdfJobsPage, query=PdfJobsQuery)
    def get(self, request: Request, query: PdfJobsQuery) -> Response:
        """List your jobs.

        Newest first. Pass `next_cursor` as `cursor` for the next page; pages are stable while jobs move.
        """
        jobs = PdfJob.objects.listed_for(request.user, status=query.status).defer("payload", "options")
        jobs = jobs.created_between(query.created_after, query.created_before)
        return self.page("jobs", jobs, query, partial(detail_body, request))

    @endpoint(responses=CREATED, body=PdfRequest, reads=False, errors=CREATING_ERRORS, scope=KeyScope.ENQUEUE)
    def post(self, request: Request) -> Response | HttpResponse:
        """Request a document.

        While a job for the same document is queued, running or stored, that job is returned; its result is sent to
        your `callbackUrl`, too.
        """
        without_database.remember_key(request)
        job_request = parse_job_request(request.data)
        check_callback(request, job_request.callback_url)
        return request_document(request, job_request)

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, DATABASE_DOWN) and is_outcome_known(exc):
            try:
                if (fallback := without_database.respond(self.request)) is not None:
                    return fallback
            except Exception as error:  # noqa: BLE001 - any error of the request gets its usual response
                exc = error
        return super().handle_exception(exc)


class PdfJobView(OnePdfView):
    @endpoint(PdfJobDetail)
    def get(self, request: Request, job_id: str) -> Response:
        """Get a job's status."""
        job = self.find(request, job_id)
        return Response(detail_body(request, job) | warnings_body(job))

    @endpoint(
        PdfJobDetail,
        errors={409: {"MOVE_REFUSED": "It is being rendered; `state` says so. Delete it when it is finished."}},
    )
    def delete(self, request: Request, job_id: str) -> Response:
        """Cancel or delete a job.

        A waiting job is not rendered; a finished one loses its file, and its links stop working. Either way it is
        expired, and its variables and recipient are deleted. Deleting it again returns the same.
        """
        with for_reason("Deleted by its owner."):
            return Response(detail_body(request, cleanup.delete_job(self.find(request, job_id))))


def request_document(request: Request, job_request: JobRequest) -> Response | HttpResponse:
    """Answer a valid request: with its job, or with the document itself while no worker is available."""
    try:
        job, is_new = enqueue(cast("User", request.user), job_request, needs_worker=True)
        if job_request.callback_url:
            request_callback(job, job_request.callback_url)
    except NoWorkerError:
        return fallback_response(job_request)
    except RenderError as error:
        logger.error("cannot render PDFs: %s", error)
        raise ApiError(400, error.code, "This server cannot render PDFs.") from None
    except QueueFullError as error:
        raise ApiError(429, "QUEUE_FULL", str(error), retry_after=RETRY_AFTER) from None
    except TooManyCallbacksError:
        raise callback_error(f"This job has {MOST_CALLBACKS} other addresses already.") from None
    location = request.build_absolute_uri(reverse("pdf-job", args=[job.job_id]))
    return Response(
        created_body(job) | warnings_body(job), status=201 if is_new else 200, headers={"Location": location}
    )


def check_callback(request: Request, url: str) -> None:
    """Refuse an address that begins as no webhook endpoint of the caller does: only known receivers get reports."""
    if not url or parse_url(url).origin in (origins := callback_origins(request.user)):
        return
    allowed = f"Expected one of these beginnings: {', '.join(sorted(origins))}." if origins else "You have none yet."
    raise callback_error(f"The host and port are not those of one of your webhook endpoints. {allowed}")


def callback_error(message: str) -> InvalidInput:
    return InvalidInput([{"field": "callbackUrl", "message": message}], 1)


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


def warnings_body(job: PdfJob) -> dict[str, object]:
    warnings = warnings_of(job)
    return {"warnings": warnings} if warnings else {}


def detail_body(request: Request, job: PdfJob) -> dict[str, object]:
    is_ready = job.status == PdfStatus.SUCCEEDED
    url = request.build_absolute_uri(reverse("pdf-download", args=[job.job_id])) if is_ready else None
    return {
        **created_body(job),
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "error_code": job.error_code or None,
        "download_url": url,
        "retry_count": job.retry_count,
        "priority": Priority(job.priority).api_name,
    }
