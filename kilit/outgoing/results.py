"""How a POST ended: the answer, or a code."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum


class PostError(StrEnum):
    INVALID_URL = "INVALID_URL"
    NAME_NOT_RESOLVED = "NAME_NOT_RESOLVED"
    ADDRESS_NOT_ALLOWED = "ADDRESS_NOT_ALLOWED"
    CONNECTION_FAILED = "CONNECTION_FAILED"
    TLS_FAILED = "TLS_FAILED"
    TIMED_OUT = "TIMED_OUT"
    INVALID_RESPONSE = "INVALID_RESPONSE"
    REDIRECTED = "REDIRECTED"
    GONE = "GONE"
    RATE_LIMITED = "RATE_LIMITED"
    HTTP_4XX = "HTTP_4XX"
    HTTP_5XX = "HTTP_5XX"


# By status, then by its first digit.
STATUSES = {410: PostError.GONE, 429: PostError.RATE_LIMITED}
CLASSES = {3: PostError.REDIRECTED, 4: PostError.HTTP_4XX, 5: PostError.HTTP_5XX}
SUCCESS = range(200, 300)
ASK_TO_WAIT = (429, 503)
# Receivers that ask for longer waits are tried after this.
LONGEST_WAIT = timedelta(hours=24)


@dataclass(frozen=True)
class PostResult:
    seconds: float
    status: int | None = None
    answer: str = ""  # cut
    retry_after: float | None = None  # seconds
    error: str = ""  # a PostError; empty if the answer was 2xx
    detail: str = ""  # what the system said about it

    @property
    def is_delivered(self) -> bool:
        return not self.error

    @property
    def requested_wait(self) -> timedelta | None:
        """Return how long the receiver wants no requests, as its header Retry-After says."""
        if self.status not in ASK_TO_WAIT or self.retry_after is None:
            return None
        return min(timedelta(seconds=self.retry_after), LONGEST_WAIT)


def status_error(status: int) -> str:
    if status in SUCCESS:
        return ""
    return STATUSES.get(status) or CLASSES.get(status // 100, PostError.INVALID_RESPONSE)


def parse_retry_after(value: str | None) -> float | None:
    """Read the header Retry-After, seconds or a date, as seconds from now; None if it is neither."""
    word = (value or "").strip()
    if word.isascii() and word.isdigit():
        return float(word[:10])
    try:
        date = parsedate_to_datetime(word)
    except ValueError:
        return None
    return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
