"""`POST /pdf/jobs` and `GET /pdf/jobs/{id}`."""

import logging
from datetime import UTC, datetime
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import given_key
from kilit.api.errors import DATABASE_DOWN, ApiError
from pdfjobs.api import schema
from pdfjobs.api.fallback import RETRY_AFTER, fallback_response, workers_available
from pdfjobs.api.responses import PdfJobCreated, PdfJobDetail
from pdfjobs.api.views import PdfView
from pdfjobs.documents import UnknownTemplateError
from pdfjobs.enqueue import QueueFullError, enqueue
from pdfjobs.job_request import JobRequest, JobRequestError, parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.states import ErrorCode, PdfStatus

logger = logging.getLogger(__name__)


@schema.jobs
class PdfJobsView(PdfView):
    def post(self, request: Request) -> Response | HttpResponse:
        """Create a job, or return the one for the same document."""
        job_request = parse_body(request.data)
        if not workers_available():
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
                return fallback_response(parse_body(self.request.data))
            except Exception as error:  # noqa: BLE001 - any error of the request gets its usual response
                exc = error
        return super().handle_exception(exc)


@schema.job
class PdfJobView(PdfView):
    def get(self, request: Request, job_id: str) -> Response:
        job = self.job(request, job_id)
        is_ready = job.status == PdfStatus.SUCCEEDED
        url = request.build_absolute_uri(reverse("pdf-download", args=[job.job_id])) if is_ready else None
        body: PdfJobDetail = {
            **created_body(job),
            "started_at": format_time(job.started_at),
            "finished_at": format_time(job.finished_at),
            "error_code": job.error_code or None,
            "download_url": url,
            "retry_count": job.retry_count,
        }
        return Response(body)


def parse_body(body: Any) -> JobRequest:
    """Return the request, or raise the API's error with everything that is wrong."""
    try:
        return parse_job_request(body)
    except UnknownTemplateError as error:
        raise ApiError(400, ErrorCode.TEMPLATE_ERROR, str(error), allowed=error.allowed) from None
    except JobRequestError as error:
        errors: dict[str, list[str]] = {}
        for line in error.errors:
            path, _, message = line.partition(": ")
            errors.setdefault(path or "non_field_errors", []).append(message)
        raise ValidationError(errors) from None


def created_body(job: PdfJob) -> PdfJobCreated:
    return {"job_id": job.job_id, "status": job.status, "created_at": cast("str", format_time(job.created_at))}


def format_time(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z") if time else None
