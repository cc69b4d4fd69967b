"""A failed and a waiting cutting job."""

from orchestrator.models import Job
from tests.support.cutting_jobs import failure_columns, make_job
from tests.support.queue_rows import QueueRows


def failed_job() -> Job:
    return make_job(order_id="S-2").move("fail", **failure_columns())


ROWS = {"cutting_job": QueueRows(failed=failed_job, waiting=make_job)}
