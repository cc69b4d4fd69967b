"""The lifecycle of a PDF job, and the error codes of failed ones."""

from typing import Self

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as _

from kilit.lock.table import ALWAYS, Answer, By, Claim, Lifecycle, move, report


class PdfStatus(TextChoices):
    QUEUED = "queued"  # Waits for a worker.
    RUNNING = "running"  # A worker holds a lease and renders it.
    SUCCEEDED = "succeeded"  # The PDF is stored and can be downloaded.
    FAILED = "failed"  # No PDF. It will not be retried automatically.
    EXPIRED = "expired"  # The file and the variables are deleted.


class ErrorCode(TextChoices):
    """Why an attempt failed: the code, whether such a job is retried automatically, and words for people."""

    retryable: bool

    BROWSER_LAUNCH_FAILED = "BROWSER_LAUNCH_FAILED", True, _("the browser did not start")
    BROWSER_CRASHED = "BROWSER_CRASHED", True, _("the browser crashed while rendering")
    NAVIGATION_TIMEOUT = "NAVIGATION_TIMEOUT", True, _("the document was not finished in time")
    WORKER_LOST = "WORKER_LOST", True, _("the worker died or stopped reporting")
    STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE", True, _("the PDF could not be stored")
    VERSION_MISMATCH = "VERSION_MISMATCH", True, _("web and worker run different templates, fonts or browsers")
    TEMPLATE_ERROR = "TEMPLATE_ERROR", False, _("the document cannot be rendered as requested: template or image")
    PAGES_MISSING = "PAGES_MISSING", False, _("the document does not have the requested pages")
    DOCUMENT_TOO_LARGE = "DOCUMENT_TOO_LARGE", False, _("the document is too large")
    UNSUPPORTED_PLATFORM = "UNSUPPORTED_PLATFORM", False, _("this machine cannot render PDFs")
    UNKNOWN = "UNKNOWN", False, _("an unexpected error")

    def __new__(cls, value: str, retryable: bool = False) -> Self:
        code = str.__new__(cls, value)
        code._value_, code.retryable = value, retryable
        return code


class FailSafe(TextChoices):
    """What a caller gets while no worker is available."""

    STRICT = "strict"  # An error; nothing is stored.
    DEGRADE = "degrade"  # The document as HTML.


RETRYABLE = tuple(code for code in ErrorCode if code.retryable)
MAX_RETRIES = 2

# A job in one of these owns its key: the same request finds it.
LIVE = (PdfStatus.QUEUED, PdfStatus.RUNNING, PdfStatus.SUCCEEDED)
UNFINISHED = (PdfStatus.QUEUED, PdfStatus.RUNNING)
# Operators may change the priority.
WAITING = (PdfStatus.QUEUED,)
# The cleanup expires these when they are old.
FINISHED = (PdfStatus.SUCCEEDED, PdfStatus.FAILED)

# Recorded when a caller wants the result of a job that has one already.
CALLBACK_REQUESTED = "CALLBACK_REQUESTED"
# Reported when a download finds that a stored file is not the one that was rendered.
FILE_CHANGED = "FILE_CHANGED"

PDF_JOBS = Lifecycle(
    "pdf",
    states=PdfStatus,
    initial=[PdfStatus.QUEUED],
    waiting=WAITING,
    held=[PdfStatus.RUNNING],
    done=[PdfStatus.SUCCEEDED, PdfStatus.EXPIRED],
    failed=[PdfStatus.FAILED],
    labels={
        PdfStatus.RUNNING: gettext_lazy("Being rendered"),
        PdfStatus.SUCCEEDED: gettext_lazy("Ready"),
        PdfStatus.EXPIRED: gettext_lazy("Expired"),
    },
    # The same document is the same file.
    known_by="job key",
    moves={
        # A worker takes the job whose turn it is, by waiting time and priority.
        "claim": move(PdfStatus.QUEUED, to=PdfStatus.RUNNING, by=By.HOLDER, claim=Claim.TAKES, sends=ALWAYS),
        # The worker has stored the PDF.
        "succeed": report(PdfStatus.RUNNING, to=PdfStatus.SUCCEEDED, after=Answer.YES),
        # The attempt failed, or the worker was lost.
        "fail": report(
            PdfStatus.RUNNING, to=PdfStatus.FAILED, by={By.HOLDER, By.SWEEP}, after=(Answer.NO, Answer.NONE)
        ),
        # Automatic, in the same transaction as `fail`: the code is retryable and fewer than MAX_RETRIES are used.
        "retry": move(
            PdfStatus.FAILED, to=PdfStatus.QUEUED, by={By.HOLDER, By.SWEEP}, counts=True, when=({"spent": False},)
        ),
        # An operator retries failed jobs, with new automatic retries.
        "retry_selected": move(PdfStatus.FAILED, to=PdfStatus.QUEUED, by=By.OPERATOR, sets={"spent": False}),
        # An operator takes a retry back, before a worker has claimed the job.
        "undo_retry": move(PdfStatus.QUEUED, to=PdfStatus.FAILED, by=By.OPERATOR),
        # Too old, ended by an operator or its owner, or its file is missing.
        "expire": move(
            *(PdfStatus.QUEUED, PdfStatus.SUCCEEDED, PdfStatus.FAILED),
            to=PdfStatus.EXPIRED,
            by={By.SWEEP, By.OPERATOR},
        ),
    },
)
