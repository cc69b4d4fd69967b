"""The lifecycle of a cutting job."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import Lifecycle, move


class State(TextChoices):
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
    State.NEW,
    State.PREPARED,
    State.OPTI_IMPORTED,
    State.OPTI_RUNNING,
    State.OPTI_DONE,
    State.XML_READY,
    State.DELIVERED,
)
AT_REST = tuple(state for state in State if state not in WORKING)
# A job in one of these has an error, and is one of a group of failures.
FAILING = (State.HOLD, State.FAILED)
# Nothing has reached the saw yet; later ones end by the saw's answer, because a cancelled job must not be cut.
CANCELLABLE = (State.NEW, State.PREPARED, State.OPTI_IMPORTED, State.OPTI_RUNNING, State.HOLD)

JOBS = Lifecycle(
    "cutting_job",
    states=State,
    initial=[State.NEW],
    moves={
        "prepare": move(State.NEW, to=State.PREPARED),
        "import_files": move(State.PREPARED, to=State.OPTI_IMPORTED),
        "start": move(State.OPTI_IMPORTED, to=State.OPTI_RUNNING),
        "collect": move(State.OPTI_RUNNING, to=State.OPTI_DONE),
        "validate": move(State.OPTI_DONE, to=State.XML_READY),
        "deliver": move(State.XML_READY, to=State.DELIVERED),
        "finish": move(State.DELIVERED, to=State.DONE),
        "hold": move(State.NEW, State.OPTI_IMPORTED, to=State.HOLD),
        "fail": move(*WORKING, to=State.FAILED),
        "approve": move(State.HOLD, to=State.NEW),
        "retry": move(State.FAILED, to=State.NEW),
        "cancel": move(*CANCELLABLE, to=State.FAILED),
    },
)
