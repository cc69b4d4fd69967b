"""Parsers with a size limit: JSON with exact numbers and no duplicate names, and forms with files; also in gzip."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework import parsers
from rest_framework.exceptions import ParseError

from kilit.api.compression import read_body, too_large
from kilit.api.json_reader import parse_json

MOST_OF_FIELDS = 64 * 1024  # bytes of a form beside its file


class JSONParser(parsers.BaseParser):
    """JSON up to the size of DATA_UPLOAD_MAX_MEMORY_SIZE, which DRF's own parser ignores."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
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
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        request = (parser_context or {})["request"]
        length = str(request.META.get("CONTENT_LENGTH"))
        if length.isdecimal() and int(length) > limit + MOST_OF_FIELDS:
            raise too_large(limit)
        body: Any = read_body(stream, request, limit=limit, most=limit + MOST_OF_FIELDS)
        return super().parse(body, media_type, parser_context)
