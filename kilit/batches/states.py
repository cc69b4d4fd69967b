"""The lifecycle of a bulk action, and the moves of all batch jobs."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import Lifecycle, Move, move


class BulkState(TextChoices):
    # Requested; a worker has still to record which rows match.
    PLANNED = "PLANNED"
    # The rows are recorded and counted; waiting for the operator to confirm.
    READY = "READY"
    # Confirmed; workers act on the rows batch by batch.
    RUNNING = "RUNNING"
    # Every recorded row was processed.
    DONE = "DONE"
    # Stopped by an operator, or never confirmed; finished batches stay as they are.
    CANCELLED = "CANCELLED"
    # It could not go on; `error` says why, and finished batches stay as they are.
    FAILED = "FAILED"


def batch_moves(*preparing: str) -> dict[str, Move]:
    """Return the moves that all batch jobs have; workers prepare them in these states, one after the other."""
    return {
        "prepare": move(preparing[-1], to=BulkState.READY),
        "start": move(BulkState.READY, to=BulkState.RUNNING),
        "finish": move(BulkState.RUNNING, to=BulkState.DONE),
        "cancel": move(*preparing, BulkState.READY, BulkState.RUNNING, to=BulkState.CANCELLED),
        "fail": move(*preparing, BulkState.RUNNING, to=BulkState.FAILED),
    }


BULK_ACTIONS = Lifecycle(
    "bulk_action",
    states=BulkState,
    initial=[BulkState.PLANNED],
    labels={
        BulkState.PLANNED: _("Being counted"),
        BulkState.READY: _("Waiting to be confirmed"),
        BulkState.RUNNING: _("In progress"),
        BulkState.DONE: _("Done"),
        BulkState.CANCELLED: _("Cancelled"),
        BulkState.FAILED: _("Failed"),
    },
    moves=batch_moves(BulkState.PLANNED),
)
