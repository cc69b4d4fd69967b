"""Reads JSON bodies of a bounded size."""

import codecs
import json
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from kilit.api.errors import ApiError

LONGEST_NAME = 80  # characters of a name that is shown in a refusal


class JSONParser(BaseParser):
    """JSON up to the size of DATA_UPLOAD_MAX_MEMORY_SIZE, which DRF's own parser does not look at."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value, or refuse in words; NaN and the infinities are not JSON."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise ApiError(413, "TOO_LARGE", f"The body is larger than {limit // 1024**2} MB.")
        try:
            return json.loads(codecs.decode(body, "utf-8"), parse_constant=refuse_constant, object_pairs_hook=once_each)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from None


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or refuse one that says a name twice: which one was meant is not ours to guess."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
    raise ValueError(f"the name {json.dumps(twice[:LONGEST_NAME])} is there twice in one object")


def refuse_constant(name: str) -> None:
    """Refuse what Python's parser would let through."""
    raise ValueError(f"{name} is not a number in JSON")
