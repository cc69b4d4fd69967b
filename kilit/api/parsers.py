"""A JSON parser with a size limit, exact numbers, and no duplicate names."""

import codecs
import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

import jiter
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from kilit.api.errors import ApiError
from kilit.api.messages import LONGEST_NAME

MOST_DIGITS = 4_000  # Python refuses to convert longer integers


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
            return parse_json(body)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from None


def parse_json(body: bytes) -> Any:
    """Return the content of a JSON document; numbers with a point or an exponent are Decimals, exactly as written."""
    try:
        return jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, float_mode="decimal")
    except ValueError:
        # Python's parser also reads what only one item has to be refused for: halves of surrogate pairs, and numbers
        # of thousands of digits. Of everything else it says better what is wrong.
        return json.loads(
            codecs.decode(body, "utf-8"),
            parse_constant=reject_constant,
            parse_float=Decimal,
            parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else Decimal(digits),
            object_pairs_hook=reject_duplicates,
        )


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, or reject a name that appears twice instead of guessing which one was meant."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
    raise ValueError(f"the name {json.dumps(twice[:LONGEST_NAME])} appears twice in one object")


def reject_constant(name: str) -> None:
    """Reject NaN and the infinities, which Python's parser would accept."""
    raise ValueError(f"{name} is not a number in JSON")
