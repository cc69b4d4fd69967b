"""The lifecycle of a bulk action."""

from django.db.models import TextChoices

from kilit.lock.table import Lifecycle, move


class State(TextChoices):
    """How far a bulk action has come."""

    PLANNED = "PLANNED"
    READY = "READY"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


# A worker has something to do in these: to write down which rows match, and to act on them.
WORKING = (State.PLANNED, State.RUNNING)

BULK_ACTIONS = Lifecycle(
    "bulk_action",
    states=State,
    initial=[State.PLANNED],
    moves={
        "prepare": move(State.PLANNED, to=State.READY),
        "start": move(State.READY, to=State.RUNNING),
        "finish": move(State.RUNNING, to=State.DONE),
        "cancel": move(State.PLANNED, State.READY, State.RUNNING, to=State.CANCELLED),
        "fail": move(*WORKING, to=State.FAILED),
    },
)
