"""The PDF API for OpenAPI."""

from functools import partial
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter

from kilit.api import openapi
from kilit.api.openapi import RETRY_AFTER, VALIDATION, ApiResponse, describe
from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.schemas import PdfJobCreated, PdfJobDetail, PdfRequest, PdfTemplates
from pdfjobs.states import ErrorCode

operation = partial(openapi.operation, tag="PDF")
ID = OpenApiParameter("job_id", UUID, OpenApiParameter.PATH, description="The job's id.")
NO_JOB = {404: {"NOT_FOUND": "There is no such job, or it belongs to another user."}}
STORE_DOWN = {"PDF_STORE_UNAVAILABLE": "The storage of PDF files does not answer; nothing was changed."}
FAILED = {True: "Failed after automatic retries: {}.", False: "Failed: {}."}
BINARY = {"type": "string", "format": "binary"}


templates = describe(
    get=operation(
        "List the templates",
        description="Each with its variables and a sample that can be sent as it is.",
        responses={200: ApiResponse("The templates that may be used.", PdfTemplates)},
        errors=[{503: STORE_DOWN}],
    )
)

WHERE = {"Location": "Where to check the job's status."}
jobs = describe(
    post=operation(
        "Request a document",
        description="While a job for the same document is queued, running or stored, that job is returned.",
        body=PdfRequest,
        examples={name: {"template_name": name, "variables": kind.sample} for name, kind in KNOWN.items()},
        responses={
            200: ApiResponse(
                "The job that exists already; or the document as HTML, because no worker is available.",
                PdfJobCreated,
                media={"text/html": {"type": "string"}},
                optional_headers={**WHERE, "X-Pdf-Fallback": "`html`, when the body is the document and not a job."},
            ),
            201: ApiResponse("A new job.", PdfJobCreated, headers=WHERE),
        },
        errors=[
            VALIDATION,
            {
                400: {
                    ErrorCode.TEMPLATE_ERROR.value: "There is no such template, or the variables do not suit it.",
                    ErrorCode.UNSUPPORTED_PLATFORM.value: "This server cannot render PDFs.",
                },
                429: {"QUEUE_FULL": "Too many jobs are waiting."},
                503: {"PDF_RENDER_UNAVAILABLE": "No worker is available; nothing was stored.", **STORE_DOWN},
            },
        ],
    )
)

job = describe(
    get=operation(
        "Get a job's status",
        parameters=[ID],
        responses={200: ApiResponse("The job; `download_url` is set once it has succeeded.", PdfJobDetail)},
        errors=[NO_JOB, {503: STORE_DOWN}],
    )
)

FILE = {
    "ETag": "The digest of the file.",
    "Accept-Ranges": "`bytes`.",
    "Content-Disposition": "The file's name.",
    "Cache-Control": "May be cached, but must be revalidated.",
}
PART = OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range, such as `bytes=0-1023`.")
KNOWN_TAG = OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The `ETag` of your copy.")
download = describe(
    get=operation(
        "Download the PDF",
        description="HEAD returns the same headers without the file.",
        parameters=[ID, PART, KNOWN_TAG],
        responses={
            200: ApiResponse("The PDF.", media={"application/pdf": BINARY}, headers=FILE),
            202: ApiResponse("Not finished yet.", PdfJobCreated, headers={"Retry-After": RETRY_AFTER}),
            206: ApiResponse(
                "A part of the PDF.",
                media={"application/pdf": BINARY},
                headers={**FILE, "Content-Range": "Which part it is."},
            ),
            304: ApiResponse("Your copy is current.", headers={"ETag": FILE["ETag"]}),
        },
        errors=[
            NO_JOB,
            {
                409: {code.value: FAILED[code.retryable].format(code.label) for code in ErrorCode},
                410: {"EXPIRED": "No longer available; request the document again."},
                416: {"RANGE_NOT_SATISFIABLE": "The range is beyond the end of the file."},
                503: STORE_DOWN,
            },
        ],
    )
)
