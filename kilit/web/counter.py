"""Counts the requests of this process: how many there were, how they ended, how long they took, and who was refused.

Without Django's models, because gunicorn imports it before Django is set up.
"""

import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # upper bounds in seconds
METHODS, STATUSES = ("read", "write"), ("2xx", "3xx", "4xx", "5xx")
REQUESTS, BUCKET, SECONDS, REFUSED = "requests", "bucket", "seconds", "refused"

READ_METHODS = {"GET", "HEAD", "OPTIONS"}
REFUSAL = "kilit.refusal"  # the key of a WSGI environment by which a view says why it refuses a request
REASON_OF_STATUS = {
    "401": "unauthenticated",
    "403": "forbidden",
    "413": "body_too_large",
    "429": "too_many_requests",
}
HOST = "host"
REASONS = tuple(sorted({HOST, *REASON_OF_STATUS.values()}))


class Series(NamedTuple):
    metric: str
    labels: tuple[str, ...]


class Numbers(NamedTuple):
    counts: Mapping[Series, float]
    busy: float


class RequestCounter:
    """The numbers of one process; threads share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock, self._clock = threading.Lock(), clock
        self._counts: defaultdict[Series, float] = defaultdict(float)
        self._busy, self._busy_seconds = 0, 0.0
        self._since = self._busy_since = clock()

    def begin(self) -> float:
        """Count a thread that becomes busy; return the time, for `end`."""
        with self._lock:
            return self._change_busy(1)

    def end(self, began_at: float, *, kind: str, method: str, status: str, reason: str | None) -> None:
        with self._lock:
            seconds = self._change_busy(-1) - began_at
            self._counts[Series(REQUESTS, (kind, method, status))] += 1
            self._counts[Series(BUCKET, (kind, str(bisect_left(BUCKETS, seconds))))] += 1
            self._counts[Series(SECONDS, (kind,))] += seconds
            if reason:
                self._counts[Series(REFUSED, (reason,))] += 1

    def take(self) -> Numbers:
        with self._lock:
            now = self._change_busy(0)
            elapsed = now - self._since
            numbers = Numbers(self._counts, self._busy_seconds / elapsed if elapsed else float(self._busy))
            self._counts, self._busy_seconds, self._since = defaultdict(float), 0.0, now
            return numbers

    def give_back(self, counts: Mapping[Series, float]) -> None:
        """Keep what could not be stored for the next time."""
        with self._lock:
            for series, value in counts.items():
                self._counts[series] += value

    def _change_busy(self, change: int) -> float:
        now = self._clock()
        self._busy_seconds += self._busy * (now - self._busy_since)
        self._busy, self._busy_since = self._busy + change, now
        return now


own_requests = RequestCounter()


class CountedApplication:
    """A WSGI application whose requests are counted, each until the last byte of its answer was handed over."""

    def __init__(self, application: Any, kind_of: Callable[[str], str], counter: RequestCounter = own_requests) -> None:
        self._application, self._kind_of, self._counter = application, kind_of, counter

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        began_at = self._counter.begin()
        status = "500"  # of an application that fails before it has one

        def note_status(line: str, *rest: object) -> object:
            nonlocal status
            status = line[:3]
            return start_response(line, *rest)

        def end() -> None:
            self._counter.end(
                began_at,
                kind=self._kind_of(environ["PATH_INFO"]),
                method="read" if environ["REQUEST_METHOD"] in READ_METHODS else "write",
                status=f"{status[0]}xx",
                reason=environ.get(REFUSAL) or REASON_OF_STATUS.get(status),
            )

        try:
            return CountedAnswer(self._application(environ, note_status), end)
        except BaseException:
            end()
            raise


class CountedAnswer:
    def __init__(self, answer: Any, end: Callable[[], None]) -> None:
        self._answer, self._end = answer, end

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Called by the web server when the answer was sent, or could not be."""
        try:
            if hasattr(self._answer, "close"):
                self._answer.close()
        finally:
            self._end()
