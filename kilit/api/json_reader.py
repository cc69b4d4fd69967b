"""Reads JSON with exact numbers and without duplicate names; free of DRF, because workers read files with it."""

import codecs
import json
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

import jiter

from kilit.api.messages import LONGEST_NAME

MOST_DIGITS = 4_000  # Python refuses to convert longer integers


class DuplicateName(ValueError):  # noqa: N818 - it carries the name
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the name {json.dumps(name[:LONGEST_NAME])} appears twice in one object")


def parse_json(body: bytes) -> Any:
    """Return the content of a JSON document; numbers with a point or an exponent are Decimals, exactly as written."""
    try:
        return jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, float_mode="decimal")
    except (ValueError, InvalidOperation):
        # Python's parser also reads what only one item has to be refused for: halves of surrogate pairs, numbers of
        # thousands of digits, and exponents beyond those of Decimal. Of everything else it says better what is wrong.
        return json.loads(
            codecs.decode(body, "utf-8"),
            parse_constant=reject_constant,
            parse_float=parse_number,
            parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else Decimal(digits),
            object_pairs_hook=reject_duplicates,
        )


def parse_number(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal(float(digits))  # infinite, or zero


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, or reject a name that appears twice instead of guessing which one was meant."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
    raise DuplicateName(twice)


def reject_constant(name: str) -> None:
    """Reject NaN and the infinities, which Python's parser would accept."""
    raise ValueError(f"{name} is not a number in JSON")
