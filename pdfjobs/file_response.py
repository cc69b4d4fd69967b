"""Streams a stored PDF, whole or in part, if it is still the one that was stored.

One that is deleted meanwhile is still sent completely.
"""

import hashlib
import re
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header, parse_etags

from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.documents.definition import Document
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts

ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
NOT_IN_NAMES = re.compile(r"[^-\w.]+")


class ArtifactChangedError(Exception):
    """The file of a finished job is not the one that its worker stored."""


def file_response(request: HttpRequest, job: PdfJob, *, as_attachment: bool) -> HttpResponseBase:
    """Raises FileNotFoundError and ArtifactChangedError."""
    etag, size = f'"{job.artifact_digest}"', job.artifact_size or 0
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",  # revalidated each time: the job may have expired
        "Content-Disposition": content_disposition_header(as_attachment, file_name(job)) or "",
    }
    etags = parse_etags(request.headers.get("If-None-Match", ""))
    if etags and ("*" in etags or etag in [tag.removeprefix("W/") for tag in etags]):
        return headers_only(job, status=304, headers=headers)
    part = requested_range(request, etag, size)
    if part is not None and not part:
        return headers_only(job, status=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    span = part or range(size)
    if part:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    headers |= {"Content-Length": str(len(span)), "Content-Type": "application/pdf"}
    if request.method == "HEAD":
        return headers_only(job, status=200, headers=headers)
    content = read_as_stored(job)[span.start : span.stop]
    return StreamingHttpResponse([content], status=206 if part else 200, headers=headers)


def file_name(job: PdfJob) -> str:
    """Return what people call the document, FTR-2026-1005.pdf; the papers of one order differ by their kind."""
    kind = job.template_name.replace("_", "-")
    number = NOT_IN_NAMES.sub("-", job.document_number).strip("-.")
    if not number:
        return f"{kind}-{job.created_at:%Y-%m-%d}-{str(job.pk)[-6:]}.pdf"
    document = KNOWN.get(job.template_name)
    return f"{number}.pdf" if document and document.number == Document.number else f"{number}-{kind}.pdf"


def headers_only(job: PdfJob, *, status: int, headers: dict[str, str]) -> HttpResponse:
    """Respond without opening the file: S3 would transfer all of it."""
    if not artifacts.exists(job.artifact_key):
        raise FileNotFoundError(job.artifact_key)
    return HttpResponse(status=status, headers=headers)


def requested_range(request: HttpRequest, etag: str, size: int) -> range | None:
    """Return the requested range, empty if it is outside the file, or None to send the whole file (RFC 9110)."""
    match = ONE_RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    if not match or match.groups() == ("", "") or request.method != "GET":
        return None  # absent, several, or in another unit: the whole file is a valid response to each
    if request.headers.get("If-Range", etag) != etag:
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def read_as_stored(job: PdfJob) -> bytes:
    """Read the file before the response starts: a missing or changed one can still be reported."""
    file: Any = artifacts.open_file(job.artifact_key)
    with file:
        content: bytes = file.read() if file.size == job.artifact_size else b""
    if hashlib.sha256(content).hexdigest() != job.artifact_digest:
        raise ArtifactChangedError
    return content
