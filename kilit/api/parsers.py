"""Parsers with a size limit: JSON with exact numbers and no duplicate names, and forms with files; also in gzip."""

import zlib
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from kilit.api.errors import ApiError
from kilit.api.json_reader import parse_json

PIECE = 64 * 1024
GZIP = 16 + zlib.MAX_WBITS  # zlib's code for "gzip, and nothing else"
NAMES = ("gzip", "x-gzip")
MOST_OF_FIELDS = 64 * 1024  # bytes of a form beside its file


def read_body(stream: IO[bytes], request: Request, *, limit: int, most: int) -> "IO[bytes] | GzipBody":
    """Return what a parser reads: the body, or what it contains if it is compressed; at most `most` bytes of that.

    The error names `limit`, which a form exceeds by what it has beside its file.
    """
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return stream
    if encoding in NAMES:
        return GzipBody(stream, limit=limit, most=most)
    raise ApiError(
        415, "UNSUPPORTED_MEDIA_TYPE", f"The content encoding {encoding[:40]} is not supported. Send gzip, or none."
    )


class GzipBody:
    """What a gzip body contains. Nothing is expanded beyond what is read, so a bomb costs as much as an honest body."""

    def __init__(self, stream: IO[bytes], *, limit: int, most: int) -> None:
        self._stream, self._limit, self._left = stream, limit, most
        self._decompressor = zlib.decompressobj(GZIP)

    def read(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size and (piece := self._expand(size - len(content))):
            content += piece
        self._left -= len(content)
        if self._left < 0:
            raise too_large(self._limit)
        return bytes(content)

    def _expand(self, size: int) -> bytes:
        while not self._decompressor.eof:
            data = self._decompressor.unconsumed_tail or self._stream.read(PIECE)
            try:
                piece = self._decompressor.decompress(data, size)
            except zlib.error:
                raise ParseError("The body is not gzip, although Content-Encoding says so.") from None
            if piece:
                return piece
            if not data:
                raise ParseError("The body ends before its gzip data does.")
        if self._decompressor.unused_data or self._stream.read(1):
            raise ParseError("The body goes on after the end of its gzip data.")
        return b""


def too_large(limit: int) -> ApiError:
    return ApiError(413, "TOO_LARGE", f"The body is larger than {limit // 1024**2} MB.")


class JSONParser(parsers.BaseParser):
    """JSON up to the size of DATA_UPLOAD_MAX_MEMORY_SIZE, which DRF's own parser ignores."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = read_body(stream, (parser_context or {})["request"], limit=limit, most=limit).read(limit + 1)
        if len(body) > limit:
            raise too_large(limit)
        try:
            return parse_json(body)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from None


class MultiPartParser(parsers.MultiPartParser):
    """Forms with a file of that size: no server passes on more than the header says."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        request = (parser_context or {})["request"]
        length = str(request.META.get("CONTENT_LENGTH"))
        if length.isdecimal() and int(length) > limit + MOST_OF_FIELDS:
            raise too_large(limit)
        body: Any = read_body(stream, request, limit=limit, most=limit + MOST_OF_FIELDS)
        return super().parse(body, media_type, parser_context)
