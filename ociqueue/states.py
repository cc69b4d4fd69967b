"""The lifecycle of an offline conversion."""

from django.db.models import TextChoices

from kilit.lock.table import Lifecycle, move


class Status(TextChoices):
    """Where a conversion is on its way to Google Ads."""

    QUEUED = "QUEUED"
    RETRY = "RETRY"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class Category(TextChoices):
    """What kind of failure it was; it decides who may try again."""

    VALIDATION = "VALIDATION"
    TRANSIENT = "TRANSIENT"
    AUTH = "AUTH"
    RATE_LIMIT = "RATE_LIMIT"
    PERMANENT = "PERMANENT"


class SyncMethod(TextChoices):
    """Who sends a site's conversions: exactly one sender."""

    SCRIPT = "script", "Google Ads Script"
    API = "api", "Google Ads API"


class CircuitStatus(TextChoices):
    """Whether conversions flow to the provider."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"


WAITING = (Status.QUEUED, Status.RETRY)
LIVE = (*WAITING, Status.PROCESSING)
# A row in one of these that has an error is one of a group of failures.
FAILING = (Status.FAILED, Status.RETRY)
ENDED = (Status.COMPLETED, Status.FAILED)  # nothing moves these by itself; once they are old they may be pruned
# A script may say these of a row; the others are for the uploader, operators and sweeps.
SCRIPT_CATEGORIES = (Category.VALIDATION, Category.TRANSIENT, Category.AUTH)

CONVERSIONS = Lifecycle(
    "conversion",
    states=Status,
    initial=[Status.QUEUED],
    moves={
        "claim": move(*WAITING, to=Status.PROCESSING),
        "ack": move(Status.PROCESSING, to=Status.COMPLETED),
        "ack_failed": move(Status.PROCESSING, to=Status.FAILED),
        "defer": move(Status.PROCESSING, to=Status.RETRY),
        "recover": move(Status.PROCESSING, to=Status.RETRY),
        "cap": move(*LIVE, to=Status.FAILED),
        "retry_selected": move(Status.FAILED, Status.RETRY, to=Status.QUEUED),
        "reset_to_queued": move(*LIVE, Status.FAILED, to=Status.QUEUED),
        "mark_failed": move(*LIVE, to=Status.FAILED),
        "requeue_transient": move(Status.FAILED, to=Status.RETRY),
    },
)

# As in electricity: while a circuit is OPEN nothing flows, but for one probe from time to time.
CIRCUITS = Lifecycle(
    "circuit",
    states=CircuitStatus,
    initial=[CircuitStatus.CLOSED],
    moves={
        "trip": move(CircuitStatus.CLOSED, to=CircuitStatus.OPEN),
        "close": move(CircuitStatus.OPEN, to=CircuitStatus.CLOSED),
    },
)
