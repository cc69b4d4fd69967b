"""The lifecycle of a PDF job, and why one fails."""

from django.db.models import TextChoices
from django.utils.translation import gettext_noop

from kilit.lock.table import Lifecycle, move


class Status(TextChoices):
    """Where a job is on its way to a PDF."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"


class ErrorCode(TextChoices):
    """What went wrong in the worker; it decides whether trying again can help.

    The console translates the words; the API says them in English.
    """

    BROWSER_LAUNCH_FAILED = "BROWSER_LAUNCH_FAILED", gettext_noop("the browser did not start, or died")
    NAVIGATION_TIMEOUT = "NAVIGATION_TIMEOUT", gettext_noop("it did not finish in time")
    TEMPLATE_ERROR = "TEMPLATE_ERROR", gettext_noop("it cannot be made as asked: template, image, page range or size")
    UNSUPPORTED_PLATFORM = "UNSUPPORTED_PLATFORM", gettext_noop("PDFs cannot be made on this machine")
    UNKNOWN = "UNKNOWN", gettext_noop("nobody knows")


class FailSafe(TextChoices):
    """What a caller wants when nobody can render."""

    STRICT = "strict", "a refusal"
    DEGRADE = "degrade", "the document as HTML"


# Passing failures are tried again by themselves, but not for ever.
TRANSIENT = (ErrorCode.BROWSER_LAUNCH_FAILED, ErrorCode.NAVIGATION_TIMEOUT)
MAX_RETRIES = 2

# A key in one of these is taken: asking for the same again finds this job.
LIVE = (Status.QUEUED, Status.RUNNING, Status.SUCCEEDED)
UNFINISHED = (Status.QUEUED, Status.RUNNING)

PDF_JOBS = Lifecycle(
    "pdf",
    states=Status,
    initial=[Status.QUEUED],
    moves={
        "claim": move(Status.QUEUED, to=Status.RUNNING),
        "succeed": move(Status.RUNNING, to=Status.SUCCEEDED),
        "fail": move(Status.RUNNING, to=Status.FAILED),
        "retry": move(Status.FAILED, to=Status.QUEUED),
        "retry_selected": move(Status.FAILED, to=Status.QUEUED),
        "expire": move(Status.QUEUED, Status.SUCCEEDED, Status.FAILED, to=Status.EXPIRED),
    },
)
