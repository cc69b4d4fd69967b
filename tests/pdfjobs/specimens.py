"""A failed and a waiting PDF job."""

from tests.support.pdf_jobs import bring, new_job
from tests.support.queue_rows import QueueRows

ROWS = {"pdf": QueueRows(failed=lambda: bring(new_job(), "failed"), waiting=lambda: new_job(number=2))}
