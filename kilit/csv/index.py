"""Which lines of a CSV file name the same thing: a click, a source key, a conversion to adjust or to correct.

What becomes of a line depends on the others that name the same. Files may have millions of lines, so the index of a
background import is a table (`ociqueue.models.ImportKey`), and the one in memory keeps only lines that are not alone.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

# More lines of one thing are not looked at, so that no file makes us hold more than this for each.
MOST_LINES = 500
# Of 3 million digests, 1 in 40 looks like another one by chance.
BITS = 27


class LineKey(NamedTuple):
    line: int
    digest: int  # of what the line names, in 64 bits
    value: int = 0  # tells apart lines that name the same


class LineIndex(Protocol):
    def find(self, digests: Iterable[int]) -> Mapping[int, Sequence[LineKey]]:
        """Return the first lines with these digests, in the order of the file."""


def digest_of(parts: Iterable[str]) -> int:
    return int.from_bytes(hashlib.sha256("\n".join(parts).encode()).digest()[:8], signed=True)


class Repeats:
    """Digests that came twice, and a few that did not, in 32 MB for any number of them."""

    def __init__(self, digests: Iterable[int]) -> None:
        once, twice = bytearray(1 << BITS - 3), bytearray(1 << BITS - 3)
        for digest in digests:
            byte, bit = _place_of(digest)
            twice[byte] |= once[byte] & bit
            once[byte] |= bit
        self._twice = twice

    def __bool__(self) -> bool:
        return self._twice.count(0) < len(self._twice)

    def __contains__(self, digest: int) -> bool:
        byte, bit = _place_of(digest)
        return bool(self._twice[byte] & bit)


def _place_of(digest: int) -> tuple[int, int]:
    place = digest & (1 << BITS) - 1
    return place >> 3, 1 << (place & 7)


class MemoryIndex:
    """An index of lines that share what they name with another line; of all others there is nothing to know.

    The keys are read once, and only if some repeat, `again`.
    """

    def __init__(self, keys: Iterable[LineKey], again: Callable[[], Iterable[LineKey]]) -> None:
        repeats = Repeats(key.digest for key in keys)
        self._found: defaultdict[int, list[LineKey]] = defaultdict(list)
        for key in again() if repeats else ():
            if key.digest in repeats and len(self._found[key.digest]) <= MOST_LINES:
                self._found[key.digest].append(key)

    def find(self, digests: Iterable[int]) -> dict[int, list[LineKey]]:
        return {digest: self._found[digest] for digest in digests if digest in self._found}
