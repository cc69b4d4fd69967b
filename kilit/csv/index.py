"""Which lines of a CSV file name the same thing: a click, a source key, a conversion to adjust or to correct.

What becomes of a line depends on the others that name the same. Files may have millions of lines, so the index is a
table (`ociqueue.models.ImportKey`).
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

# More lines of one thing are not looked at, so that no file makes us hold more than this for each.
MOST_LINES = 500


class LineKey(NamedTuple):
    line: int
    digest: int  # of what the line names, in 64 bits
    value: int = 0  # tells apart lines that name the same


def digest_of(parts: Iterable[str]) -> int:
    return int.from_bytes(hashlib.sha256("\n".join(parts).encode()).digest()[:8], signed=True)
