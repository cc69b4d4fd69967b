"""The lifecycle of a bulk action, and the moves of all batch jobs."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import By, Lifecycle, Move, move, report


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
    unfinished = (*preparing, BulkState.READY, BulkState.RUNNING)
    return {
        "prepare": report(preparing[-1], to=BulkState.READY),
        "start": move(BulkState.READY, to=BulkState.RUNNING, by=By.OPERATOR),
        "finish": report(BulkState.RUNNING, to=BulkState.DONE),
        # The sweep cancels what nobody has confirmed.
        "cancel": move(*unfinished, to=BulkState.CANCELLED, by={By.OPERATOR, By.SWEEP}),
        "fail": report(*preparing, BulkState.RUNNING, to=BulkState.FAILED, by={By.HOLDER, By.SWEEP}),
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
