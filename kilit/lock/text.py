"""Characters that are refused or replaced in text from outside, defined once."""

import re

from kilit.sentences import stored

SURROGATES = r"\ud800-\udfff"

# What PostgreSQL cannot store: NUL, and halves of surrogate pairs, which are not valid UTF-8.
UNSTORABLE_CHARS = re.compile(rf"[\x00{SURROGATES}]")

# What has no place in one line of text: control characters, and code points that are not characters.
CONTROL_CHARS = re.compile(rf"[\x00-\x1f\x7f{SURROGATES}\ufffe\uffff]")

LONGEST_NUMBER = 18  # digits that fit into a column of PostgreSQL


def read_digits(text: str) -> int | None:
    """Return a number written with ASCII digits only: `int` also takes `1_0`, `٣` and spaces."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None


def strip_control_chars(text: str) -> str:
    """Make any text storable, so that no wording of a reason or an error can stop a move; line breaks stay."""
    return UNSTORABLE_CHARS.sub(lambda found: "" if found[0] == "\x00" else "?", text)


def storable(text: str, length: int | None = None) -> str:
    """Return a text as a column of this length holds it: of a sentence its code and values, if they fit."""
    whole = strip_control_chars(stored(text))
    return whole if length is None or len(whole) <= length else strip_control_chars(text)[:length]
