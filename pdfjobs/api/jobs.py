"""`POST /pdf/jobs` and `GET /pdf/jobs/{id}`."""

from datetime import UTC, datetime
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import given_key
from kilit.api.errors import ApiError
from pdfjobs.api import schema
from pdfjobs.api.errors import read, refusing_broken_templates, refusing_unsupported, unavailable
from pdfjobs.api.fallback import DATABASE_DOWN, FALLBACK, RETRY_AFTER, workers_live
from pdfjobs.api.responses import Made, Told
from pdfjobs.api.views import PdfView
from pdfjobs.enqueue import QueueFullError, enqueue
from pdfjobs.job_request import JobRequest
from pdfjobs.models import PdfJob
from pdfjobs.states import FailSafe, PdfStatus


@schema.jobs
class JobsView(PdfView):
    def post(self, request: Request) -> Response | HttpResponse:
        """Store a job, or find the one that makes the same; without anybody to render, do as the caller wishes."""
        entry = read(request.data)
        if not workers_live():
            return fall_back(entry)
        try:
            with refusing_unsupported():
                job, is_new = enqueue(cast("User", request.user), entry)
        except QueueFullError:
            words = "Too many jobs wait already; send this one again later."
            raise ApiError(429, "QUEUE_FULL", words, retry_after=RETRY_AFTER) from None
        where = request.build_absolute_uri(reverse("pdf-job", args=[job.job_id]))
        return Response(made(job), status=201 if is_new else 200, headers={"Location": where})

    def handle_exception(self, exc: Exception) -> Any:
        """Without a database nobody can be told from anybody else; who sent a key gets their own words back as HTML."""
        if isinstance(exc, DATABASE_DOWN) and given_key(self.request):
            try:
                return fall_back(read(self.request.data))
            except Exception as refusal:  # noqa: BLE001 - whatever is wrong with the request is answered as always
                exc = refusal
        return super().handle_exception(exc)


@schema.job
class JobView(PdfView):
    def get(self, request: Request, job_id: str) -> Response:
        job = self.job(request, job_id)
        is_ready = job.status == PdfStatus.SUCCEEDED
        url = request.build_absolute_uri(reverse("pdf-download", args=[job.job_id])) if is_ready else None
        told: Told = {
            **made(job),
            "started_at": spoken(job.started_at),
            "finished_at": spoken(job.finished_at),
            "error_code": job.error_code or None,
            "download_url": url,
            "retry_count": job.retry_count,
        }
        return Response(told)


def fall_back(entry: JobRequest) -> HttpResponse:
    """Answer in the stead of a worker: the document as HTML, or that there is none; nothing is stored."""
    if entry.fail_safe == FailSafe.STRICT:
        raise unavailable()
    with refusing_broken_templates():
        return HttpResponse(entry.html(), headers=FALLBACK)


def made(job: PdfJob) -> Made:
    return {"job_id": job.job_id, "status": job.status, "created_at": cast("str", spoken(job.created_at))}


def spoken(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z") if time else None
