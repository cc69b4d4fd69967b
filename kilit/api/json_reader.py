"""Reads JSON with exact numbers and without duplicate names; free of DRF, because workers read files with it."""

import codecs
import json
from collections import Counter
from decimal import Decimal, InvalidOperation

import jiter

from kilit.api.input_model import LONGEST_NAME

MOST_DIGITS = 4_000  # Python refuses to convert longer integers
UTF_16 = "it looks like UTF-16. Send it as UTF-8."
# By how a document begins that another program has encoded.
OTHER_ENCODINGS = {
    codecs.BOM_UTF8: "it begins with a byte order mark. Send it as UTF-8 without one.",
    codecs.BOM_UTF16_LE: UTF_16,
    codecs.BOM_UTF16_BE: UTF_16,
    b"\x1f\x8b": "it looks like gzip. Send the header Content-Encoding: gzip with it.",
}


class DuplicateName(ValueError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the name {json.dumps(name[:LONGEST_NAME])} appears twice in one object")


def parse_json(body: bytes) -> object:
    """Return the content of a JSON document; numbers with a point or an exponent are Decimals, exactly as written."""
    try:
        return jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, float_mode="decimal")
    except (ValueError, InvalidOperation):
        # Python's parser also reads what only one item has to be refused for: halves of surrogate pairs, numbers of
        # thousands of digits, and exponents beyond those of Decimal. Of everything else it says better what is wrong.
        return json.loads(
            decode(body),
            parse_constant=reject_constant,
            parse_float=parse_number,
            parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else Decimal(digits),
            object_pairs_hook=reject_duplicates,
        )


def decode(body: bytes) -> str:
    """Return the text of a document, or say how else it seems to be encoded."""
    for beginning, fault in OTHER_ENCODINGS.items():
        if body.startswith(beginning):
            raise ValueError(fault)
    if 0 in body[:2]:  # an ASCII character in UTF-16; JSON begins with one
        raise ValueError(UTF_16)
    try:
        return codecs.decode(body, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} is not UTF-8. Send it as UTF-8.") from None


def parse_number(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal(float(digits))  # infinite, or zero


def reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object, or reject a name that appears twice instead of guessing which one was meant."""
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
    raise DuplicateName(twice)


def reject_constant(name: str) -> None:
    """Reject NaN and the infinities, which Python's parser would accept."""
    raise ValueError(f"{name} is not a number in JSON")
