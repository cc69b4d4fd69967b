"""The endpoints for PDF files: downloads with a key, and links without a key."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any, ClassVar

from django.core.signing import BadSignature
from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.translation import get_language_from_request, gettext, gettext_noop, override
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import GuessThrottle, count_wrong_guess
from kilit.access.key_scopes import KeyScope
from kilit.api import openapi
from kilit.api.errors import ApiError, error_page
from kilit.api.openapi import ApiResponse, endpoint
from pdfjobs.api.views import OnePdfView, PdfView, created_body
from pdfjobs.enqueue import expire_changed, expire_missing
from pdfjobs.file_response import ArtifactChangedError, file_response
from pdfjobs.links import DeadLinkError, create_link, linked_job
from pdfjobs.models import PdfJob
from pdfjobs.schemas import PdfJobCreated, PdfLink, PdfLinkRequest
from pdfjobs.states import FILE_CHANGED, UNFINISHED, ErrorCode, PdfStatus
from pdfjobs.storage import artifacts

POLL_AFTER = 2  # seconds
FAILED = {True: "Failed after automatic retries: {}.", False: "Failed: {}."}
EXPIRED = "The PDF is no longer available; request the document again."
PDF = {"application/pdf": {"type": "string", "format": "binary"}}
FILE = {
    "ETag": "The digest of the file.",
    "Accept-Ranges": "`bytes`.",
    "Content-Disposition": "The file's name.",
    "Cache-Control": "Whether it may be cached.",
}
TOKEN = {"type": "string", "pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"}
FILE_ANSWERS = {
    200: ApiResponse("The PDF.", media=PDF, headers=FILE),
    206: ApiResponse("A part of the PDF.", media=PDF, headers={**FILE, "Content-Range": "Which part it is."}),
    304: ApiResponse("Your copy is current.", headers={"ETag": FILE["ETag"]}),
}
FILE_PARAMETERS = [
    OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range, such as `bytes=0-1023`."),
    OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The `ETag` of your copy."),
]
FILE_ERRORS = {
    410: {
        "EXPIRED": "No longer available; request the document again.",
        FILE_CHANGED: "The stored file is not the one that was rendered and is not sent; request the document again.",
    },
    416: {"RANGE_NOT_SATISFIABLE": "The range is beyond the end of the file."},
}
LINK_EXPIRED = gettext_noop("This link has expired, or its PDF was deleted. Ask its sender for a new one.")
PAGES = {404: gettext_noop("There is no such link."), 410: LINK_EXPIRED}
FAILURES = {code.value: FAILED[code.retryable].format(code.label) for code in ErrorCode}


class FileView(PdfView):
    def file(self, request: Request, job: PdfJob) -> HttpResponseBase:
        """Return the file of a job that has succeeded; a range beyond the end gets the body of all API errors."""
        try:
            response = file_response(request, job, as_attachment=True)
        except FileNotFoundError:
            expire_missing(job)
            raise expired(job) from None
        except ArtifactChangedError:
            expire_changed(job)
            raise ApiError(410, FILE_CHANGED, FILE_ERRORS[410][FILE_CHANGED], job_id=job.job_id) from None
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self.headers["Content-Range"] = response["Content-Range"]
            message = f"The PDF has {job.artifact_size:,} bytes; the range is beyond its end."
            raise ApiError(response.status_code, "RANGE_NOT_SATISFIABLE", message, size=job.artifact_size)
        return response


class DownloadView(OnePdfView, FileView):
    @endpoint(
        responses={
            **FILE_ANSWERS,
            202: ApiResponse("Not finished yet.", PdfJobCreated, headers={"Retry-After": openapi.RETRY_AFTER}),
        },
        parameters=FILE_PARAMETERS,
        errors={**FILE_ERRORS, 409: FAILURES},
    )
    def get(self, request: Request, job_id: str) -> Response | HttpResponseBase:
        """Download the PDF.

        HEAD returns the same headers without the file.
        """
        job = self.find(request, job_id)
        if job.status in UNFINISHED:
            return Response(created_body(job), status=202, headers={"Retry-After": str(POLL_AFTER)})
        return self.file(request, finished(job))

    head = get


class CreateLinkView(OnePdfView):
    @endpoint(
        responses={201: ApiResponse("A new link.", PdfLink)},
        body=PdfLinkRequest,
        scope=KeyScope.READ,  # it could download the file, too
        errors={
            409: {"NOT_FINISHED": "It is not finished yet; `state` says how far it is.", **FAILURES},
            410: FILE_ERRORS[410],
        },
    )
    def post(self, request: Request, body: PdfLinkRequest, job_id: str) -> Response:
        """Create a link that needs no key.

        For this PDF only, until `expires_at`, and not after the file is deleted. Everyone who has the link can
        download the PDF.
        """
        job = self.find(request, job_id)
        if job.status in UNFINISHED:
            message = f"The job is {job.status}; a link needs a finished PDF."
            raise ApiError(409, "NOT_FINISHED", message, job_id=job.job_id, state=job.status)
        if not artifacts.exists(finished(job).artifact_key):
            expire_missing(job)
            raise expired(job)
        try:
            link = create_link(job, life=timedelta(seconds=body.expiresIn))
        except DeadLinkError:
            raise expired(job) from None
        url = request.build_absolute_uri(reverse("pdf-link", args=[link.token]))
        return Response({"job_id": job.job_id, "url": url, "expires_at": link.expires_at}, status=201)


class LinkView(FileView):
    """Serves a link to everyone who has it."""

    authentication_classes = ()
    throttle_classes = [GuessThrottle]
    errors: ClassVar = {
        **PdfView.errors,
        404: {"NOT_FOUND": "There is no such link."},
        429: {"TOO_MANY_REQUESTS": "Your address sent too many links that do not exist."},
    }
    parameters = (OpenApiParameter("token", TOKEN, OpenApiParameter.PATH, description="The end of the link."),)

    def check_permissions(self, request: Request) -> None:
        """Require nothing but the link."""

    def handle_exception(self, exc: Exception) -> Any:
        """Answer people, whose browsers ask for HTML, with a page in their language."""
        response = super().handle_exception(exc)
        if "text/html" not in self.request.headers.get("Accept", ""):
            return response
        with override(get_language_from_request(self.request)):
            message = PAGES.get(response.status_code, gettext_noop("The document cannot be downloaded now. Try later."))
            return error_page(response.status_code, gettext(message), is_console=False)

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Keep the link and its document out of caches, search engines and the logs of other sites."""
        return {
            **super().default_response_headers,
            "Cache-Control": "private, no-store",
            "Referrer-Policy": "no-referrer",
            "X-Robots-Tag": "noindex, nofollow, noarchive",
        }

    @endpoint(
        responses=FILE_ANSWERS,
        parameters=FILE_PARAMETERS,
        errors={
            **FILE_ERRORS,
            410: {**FILE_ERRORS[410], "LINK_EXPIRED": "The link's time is over, or its PDF is gone."},
        },
    )
    def get(self, request: Request, token: str) -> HttpResponseBase:
        """Download the PDF of a link.

        It needs no key. HEAD returns the same headers without the file. Browsers, which ask for HTML, get errors as a
        page.
        """
        try:
            return self.file(request, linked_job(token))
        except BadSignature:
            count_wrong_guess(request)
            raise NotFound("There is no such link.") from None
        except DeadLinkError:
            raise ApiError(410, "LINK_EXPIRED", LINK_EXPIRED) from None

    head = get


def finished(job: PdfJob) -> PdfJob:
    if job.status == PdfStatus.FAILED:
        message = f"The PDF could not be rendered: {ErrorCode(job.error_code).label}."
        raise ApiError(409, job.error_code, message, job_id=job.job_id, state=job.status)
    if job.status == PdfStatus.EXPIRED:
        raise expired(job)
    return job


def expired(job: PdfJob) -> ApiError:
    return ApiError(410, "EXPIRED", EXPIRED, job_id=job.job_id)
