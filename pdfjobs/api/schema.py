"""The PDF queue's endpoints for OpenAPI; checks are where they always were, in entry.py and rendering/options.py."""

from typing import TypedDict
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter

from kilit.api.openapi import RETRY_AFTER, VALIDATION, ApiResponse, Component, Schema, describe, operation
from pdfjobs.api.responses import Made, Template, Told
from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering.options import (
    MOST_KEYWORDS,
    MOST_LINE,
    MOST_MARGIN,
    MOST_METADATA,
    PAPERS,
    PLACEHOLDERS,
    PageOptions,
)
from pdfjobs.states import ErrorCode, FailSafe

TAG = "PDF"
ID = OpenApiParameter("job_id", UUID, OpenApiParameter.PATH, description="The job's id; it is nobody else's business.")
NO_JOB = {404: {"NOT_FOUND": "There is no such job, or it is somebody else's."}}
STORE_DOWN = {"PDF_STORE_UNAVAILABLE": "The store of PDF files does not answer; nothing was changed."}
BINARY = {"type": "string", "format": "binary"}

DEFAULTS = PageOptions().canonical()
TEXT = {"type": "string", "maxLength": MOST_METADATA}
LINE = {
    "type": ["object", "null"],
    "description": f"Texts; {', '.join(f'{{{word}}}' for word in PLACEHOLDERS)} are filled in. Null leaves it out.",
    "properties": {side: {"type": "string", "maxLength": MOST_LINE} for side in ("left", "center", "right")},
    "additionalProperties": False,
}
OPTIONS: dict[str, Schema] = {
    "paper": {"type": "string", "enum": list(PAPERS)},
    "landscape": {"type": "boolean"},
    "margin": {
        "type": "object",
        "description": "Millimetres.",
        "properties": {side: {"type": "number", "minimum": 0, "maximum": MOST_MARGIN} for side in DEFAULTS["margin"]},
        "additionalProperties": False,
    },
    "pages": {"type": "string", "description": "Ranges, as in `1-3,5`; empty is all.", "examples": ["1-3,5"]},
    "header": LINE,
    "footer": LINE,
    "tagged": {"type": "boolean"},
    "metadata": {
        "type": "object",
        "properties": {
            **dict.fromkeys(("title", "author", "subject"), TEXT),
            "keywords": {"type": "array", "items": TEXT, "maxItems": MOST_KEYWORDS},
        },
        "additionalProperties": False,
    },
}
BEHAVIOUR: dict[str, Schema] = {
    "timeout": {
        "type": ["integer", "null"],
        "description": "Seconds for the render.",
        "minimum": 1,
        "maximum": int(LONGEST_TIMEOUT.total_seconds()),
    },
    "fail_safe": {
        "type": ["string", "null"],
        "description": "When nobody can render: a refusal, or the document as HTML.",
        "enum": [*FailSafe.values, None],
    },
}
REQUEST = Component(
    "PdfRequest",
    {
        "type": "object",
        "required": ["template_name", "variables"],
        "properties": {
            "template_name": {"type": "string", "minLength": 1, "examples": list(KNOWN)},
            "variables": {
                "type": "object",
                "description": "What the template asks for; `GET /pdf/templates` lists it, with a sample.",
            },
            "options": {
                "type": ["object", "null"],
                "properties": {
                    **{name: {**schema, "default": DEFAULTS[name]} for name, schema in OPTIONS.items()},
                    **BEHAVIOUR,
                },
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    },
)


class Templates(TypedDict):
    templates: list[Template]


templates = describe(
    get=operation(
        "List the templates",
        description="Each with its variables, and a sample that renders as it is.",
        tag=TAG,
        responses={200: ApiResponse("The templates that may be asked for.", Templates)},
        errors=[{503: STORE_DOWN}],
    )
)

WHERE = {"Location": "Where to ask how the job stands."}
jobs = describe(
    post=operation(
        "Have a document made",
        description="The same document again, while it is made or kept, is the same job.",
        tag=TAG,
        body=REQUEST,
        examples={name: {"template_name": name, "variables": kind.sample} for name, kind in KNOWN.items()},
        responses={
            200: ApiResponse(
                "The job that makes the same already; or the document as HTML, because nobody can render.",
                Made,
                media={"text/html": {"type": "string"}},
                optional_headers={**WHERE, "X-Pdf-Fallback": "`html`, when the document came instead of a job."},
            ),
            201: ApiResponse("A new job.", Made, headers=WHERE),
        },
        errors=[
            VALIDATION,
            {
                400: {
                    ErrorCode.TEMPLATE_ERROR.value: "There is no such template, or it cannot be filled in.",
                    ErrorCode.UNSUPPORTED_PLATFORM.value: "PDFs cannot be made on this machine.",
                },
                429: {"QUEUE_FULL": "Too many jobs wait."},
                503: {"PDF_RENDER_UNAVAILABLE": "Nobody can render; nothing was stored.", **STORE_DOWN},
            },
        ],
    )
)

job = describe(
    get=operation(
        "Ask how a job stands",
        tag=TAG,
        parameters=[ID],
        responses={200: ApiResponse("How it stands; `download_url` once it has succeeded.", Told)},
        errors=[NO_JOB, {503: STORE_DOWN}],
    )
)

FILE = {
    "ETag": "The digest of the file.",
    "Accept-Ranges": "`bytes`.",
    "Content-Disposition": "The file's name.",
    "Cache-Control": "May be kept, but must be asked about.",
}
PART = OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range, as in `bytes=0-1023`.")
KNOWN_TAG = OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An `ETag` you have already.")
download = describe(
    get=operation(
        "Fetch the PDF",
        description="HEAD answers the same without the bytes.",
        tag=TAG,
        parameters=[ID, PART, KNOWN_TAG],
        responses={
            200: ApiResponse("The PDF.", media={"application/pdf": BINARY}, headers=FILE),
            202: ApiResponse("It is not made yet.", Made, headers={"Retry-After": RETRY_AFTER}),
            206: ApiResponse(
                "A part of the PDF.",
                media={"application/pdf": BINARY},
                headers={**FILE, "Content-Range": "Which part."},
            ),
            304: ApiResponse("You have it already.", headers={"ETag": FILE["ETag"]}),
        },
        errors=[
            NO_JOB,
            {
                409: {code.value: f"It could not be made: {code.label}." for code in ErrorCode},
                410: {"EXPIRED": "It is no longer kept; ask for the document again."},
                416: {"RANGE_NOT_SATISFIABLE": "The range lies beyond the end."},
                503: STORE_DOWN,
            },
        ],
    )
)
