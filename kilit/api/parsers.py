"""A JSON parser with a size limit."""

import codecs
import json
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from kilit.api.errors import ApiError

MAX_NAME = 80  # characters of a name that are quoted in an error


class JSONParser(BaseParser):
    """JSON up to the size of DATA_UPLOAD_MAX_MEMORY_SIZE, which DRF's own parser ignores."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise ApiError(413, "TOO_LARGE", f"The body is larger than {limit // 1024**2} MB.")
        try:
            return json.loads(
                codecs.decode(body, "utf-8"), parse_constant=reject_constant, object_pairs_hook=reject_duplicates
            )
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from None


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, or reject a name that appears twice instead of guessing which one was meant."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
    raise ValueError(f"the name {json.dumps(twice[:MAX_NAME])} appears twice in one object")


def reject_constant(name: str) -> None:
    """Reject NaN and the infinities, which Python's parser would accept."""
    raise ValueError(f"{name} is not a number in JSON")
