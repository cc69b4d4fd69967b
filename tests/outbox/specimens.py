"""A failed and a waiting message."""

from tests.support.outbox import make_failed_message, make_message
from tests.support.queue_rows import QueueRows

ROWS = {"message": QueueRows(failed=make_failed_message, waiting=make_message)}
