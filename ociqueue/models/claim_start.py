"""Where a claim begins to look, when looking from the beginning takes long.

Claims follow an index from a site's oldest row. While a transaction stays open somewhere, PostgreSQL keeps the entries
of all rows that have moved on since, and each claim would pass all of them again. So after a claim that took long, the
next ones of this process begin where it ended. If they find too little, they look from the beginning, and so does one
every few seconds: a row that waits again keeps its turn but for these seconds.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Moment = datetime | str  # as the database or a caller's loader has it
Row = tuple[Any, ...]
BEGINNING = "-infinity"


@dataclass
class ClaimStarts:
    long: float = 0.1  # seconds that a claim may take
    kept_for: float = 10.0  # seconds
    clock: Callable[[], float] = time.monotonic
    starts: dict[Hashable, tuple[Moment, float]] = field(default_factory=dict)

    def take(self, key: Hashable, take: Callable[[int, Moment], list[Row]], limit: int) -> list[Row]:
        """Take up to `limit` rows, oldest first, by a function of how many and since when; the time is their last."""
        now = self.clock()
        start, ends_at = self.starts.get(key, (BEGINNING, now))
        if now >= ends_at:
            self.starts.pop(key, None)
            return self._from_beginning(key, take, limit)
        rows = take(limit, start)
        if len(rows) == limit:
            self.starts[key] = rows[-1][-1], ends_at
            return rows
        self.starts.pop(key, None)
        return [*take(limit - len(rows), BEGINNING), *rows]

    def _from_beginning(self, key: Hashable, take: Callable[[int, Moment], list[Row]], limit: int) -> list[Row]:
        begun = self.clock()
        rows = take(limit, BEGINNING)
        ended = self.clock()
        if ended - begun > self.long and len(rows) == limit:
            self.starts[key] = rows[-1][-1], ended + self.kept_for
        return rows


LONG_CLAIMS = ClaimStarts()
