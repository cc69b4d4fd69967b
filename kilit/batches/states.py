"""The lifecycle of a bulk action."""

from django.db.models import TextChoices

from kilit.lock.table import Lifecycle, move


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


# Workers have something to do in these: to record which rows match, and to act on them.
WORKING = (BulkState.PLANNED, BulkState.RUNNING)

BULK_ACTIONS = Lifecycle(
    "bulk_action",
    states=BulkState,
    initial=[BulkState.PLANNED],
    moves={
        "prepare": move(BulkState.PLANNED, to=BulkState.READY),
        "start": move(BulkState.READY, to=BulkState.RUNNING),
        "finish": move(BulkState.RUNNING, to=BulkState.DONE),
        "cancel": move(BulkState.PLANNED, BulkState.READY, BulkState.RUNNING, to=BulkState.CANCELLED),
        "fail": move(*WORKING, to=BulkState.FAILED),
    },
)
