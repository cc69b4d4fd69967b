"""How a POST ended: the answer, or a code with a sentence for people."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class PostError(TextChoices):
    INVALID_URL = "INVALID_URL", _("The URL is not valid.")
    NAME_NOT_RESOLVED = "NAME_NOT_RESOLVED", _("The host name could not be resolved.")
    ADDRESS_NOT_ALLOWED = "ADDRESS_NOT_ALLOWED", _("The host is in a private network, which is not allowed.")
    CONNECTION_FAILED = "CONNECTION_FAILED", _("The receiver could not be reached, or closed the connection.")
    TLS_FAILED = "TLS_FAILED", _("The receiver does not speak TLS, or its certificate is not valid for its name.")
    TIMED_OUT = "TIMED_OUT", _("The receiver did not answer in time.")
    INVALID_RESPONSE = "INVALID_RESPONSE", _("The receiver's answer is not valid HTTP.")
    REDIRECTED = "REDIRECTED", _("The receiver redirects to another URL; redirects are not followed.")
    GONE = "GONE", _("The receiver answered 410: it wants no more messages.")
    RATE_LIMITED = "RATE_LIMITED", _("The receiver answered 429: too many requests.")
    HTTP_4XX = "HTTP_4XX", _("The receiver rejected the message.")
    HTTP_5XX = "HTTP_5XX", _("The receiver failed to process the message.")


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
