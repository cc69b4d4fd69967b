"""The lifecycle of a cutting job."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import Lifecycle, move


class JobState(TextChoices):
    """Where a job is on its way from the order to the saw."""

    NEW = "NEW"
    PREPARED = "PREPARED"
    OPTI_IMPORTED = "OPTI_IMPORTED"
    OPTI_RUNNING = "OPTI_RUNNING"
    OPTI_DONE = "OPTI_DONE"
    XML_READY = "XML_READY"
    DELIVERED = "DELIVERED"
    DONE = "DONE"
    HOLD = "HOLD"
    FAILED = "FAILED"


class Mode(TextChoices):
    A = "A", _("A: command line")
    B = "B", _("B: Excel macro")
    C = "C", _("C: by the operator")


# The runner claims these when they are due; the rest wait for a person, or have ended.
WORKING = (
    JobState.NEW,
    JobState.PREPARED,
    JobState.OPTI_IMPORTED,
    JobState.OPTI_RUNNING,
    JobState.OPTI_DONE,
    JobState.XML_READY,
    JobState.DELIVERED,
)
AT_REST = tuple(state for state in JobState if state not in WORKING)
# A job in one of these has an error, and is one of a group of failures.
FAILING = (JobState.HOLD, JobState.FAILED)
# Nothing has reached the saw yet; later ones end by the saw's answer, because a cancelled job must not be cut.
CANCELLABLE = (JobState.NEW, JobState.PREPARED, JobState.OPTI_IMPORTED, JobState.OPTI_RUNNING, JobState.HOLD)

JOBS = Lifecycle(
    "cutting_job",
    states=JobState,
    initial=[JobState.NEW],
    moves={
        "prepare": move(JobState.NEW, to=JobState.PREPARED),
        "import_files": move(JobState.PREPARED, to=JobState.OPTI_IMPORTED),
        "start": move(JobState.OPTI_IMPORTED, to=JobState.OPTI_RUNNING),
        "collect": move(JobState.OPTI_RUNNING, to=JobState.OPTI_DONE),
        "validate": move(JobState.OPTI_DONE, to=JobState.XML_READY),
        "deliver": move(JobState.XML_READY, to=JobState.DELIVERED),
        "finish": move(JobState.DELIVERED, to=JobState.DONE),
        "hold": move(JobState.NEW, JobState.OPTI_IMPORTED, to=JobState.HOLD),
        "fail": move(*WORKING, to=JobState.FAILED),
        "approve": move(JobState.HOLD, to=JobState.NEW),
        "retry": move(JobState.FAILED, to=JobState.NEW),
        "cancel": move(*CANCELLABLE, to=JobState.FAILED),
    },
)
