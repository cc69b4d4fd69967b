"""Sends a stored PDF: whole or in part, and never half of one that is being deleted."""

import os
import re
from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header, parse_etags

from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts

CHUNK = 64 * 1024
ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class ArtifactMissingError(Exception):
    """A finished job's file is not there any more."""


def serve(request: HttpRequest, job: PdfJob, *, as_attachment: bool) -> HttpResponseBase:
    """Answer with a finished job's file, or ArtifactMissingError."""
    etag, size = f'"{job.artifact_digest}"', job.artifact_size or 0
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",  # kept, but asked about: it may have expired
        "Content-Disposition": content_disposition_header(as_attachment, job.file_name) or "",
    }
    given = parse_etags(request.headers.get("If-None-Match", ""))
    if given and ("*" in given or etag in [tag.removeprefix("W/") for tag in given]):
        return without_bytes(job, status=304, headers=headers)
    part = asked_range(request, etag, size)
    if part is not None and not part:
        return without_bytes(job, status=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    wanted = part or range(size)
    if part:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    headers |= {"Content-Length": str(len(wanted)), "Content-Type": "application/pdf"}
    if request.method == "HEAD":
        return without_bytes(job, status=200, headers=headers)
    return StreamingHttpResponse(FilePart(job, wanted), status=206 if part else 200, headers=headers)


def without_bytes(job: PdfJob, *, status: int, headers: dict[str, str]) -> HttpResponse:
    """Answer about a file that is there, without opening it: a bucket would send all of it."""
    if not artifacts.exists(job.artifact_key):
        raise ArtifactMissingError
    return HttpResponse(status=status, headers=headers)


def asked_range(request: HttpRequest, etag: str, size: int) -> range | None:
    """Return the one range asked for, empty when it lies outside; none when the whole is to be sent (RFC 9110)."""
    found = ONE_RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    if not found or found.groups() == ("", "") or request.method != "GET":
        return None  # absent, several, or of a unit that nobody knows: the whole is a right answer to each
    if request.headers.get("If-Range", etag) != etag:
        return None
    first, last = found.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


class FilePart:
    """A part of an open file; opened before the answer begins, so that a file which is gone is refused."""

    def __init__(self, job: PdfJob, wanted: range) -> None:
        try:
            self.file: Any = artifacts.open_file(job.artifact_key)
        except FileNotFoundError:
            raise ArtifactMissingError from None
        self.file.seek(0, os.SEEK_END)  # asked of what is open: by its name the file may be gone by now
        if self.file.tell() != job.artifact_size:
            self.close()
            raise ArtifactMissingError
        self.wanted = wanted

    def __iter__(self) -> Iterator[bytes]:
        self.file.seek(self.wanted.start)
        left = len(self.wanted)
        while left and (piece := self.file.read(min(CHUNK, left))):
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Let go of the file; Django calls this when the answer is over."""
        self.file.close()
