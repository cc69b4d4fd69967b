"""The text of /metrics, computed at most every few seconds: it costs a dozen queries, and anyone may ask often."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

PATIENCE = 1.0  # seconds to wait for the first text; a thread that waits longer is missed elsewhere
STALE_AFTER = 60.0  # seconds; an older text is not given out while the next is computed


class Scrape(NamedTuple):
    text: bytes
    age: float  # seconds


class MetricsBusyError(Exception):
    """The text is being computed, and takes long."""


class ScrapeCache:
    """The last text of this process. One thread computes the next; the others get the last, or wait a moment."""

    def __init__(self, compute: Callable[[], bytes], clock: Callable[[], float] = time.monotonic) -> None:
        self._compute, self._clock = compute, clock
        self._computing = threading.Lock()
        self._last = (b"", float("-inf"))  # the text, and when it was computed

    def read(self, *, max_age: float) -> Scrape:
        """Return the text, computed now if the last is older; raises MetricsBusyError, and what computing raises."""
        if (scrape := self._last_scrape()).age < max_age:
            return scrape
        may_wait = scrape.age > STALE_AFTER
        if not self._computing.acquire(timeout=PATIENCE if may_wait else 0):
            if may_wait:
                raise MetricsBusyError
            return scrape
        try:
            if (scrape := self._last_scrape()).age >= max_age:  # no other thread was faster
                self._last = (self._compute(), self._clock())
            return self._last_scrape()
        finally:
            self._computing.release()

    def _last_scrape(self) -> Scrape:
        text, computed_at = self._last
        return Scrape(text, self._clock() - computed_at)
