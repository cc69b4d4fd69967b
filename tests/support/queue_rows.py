"""A failed and a waiting row of each queue, for tests of what all queues have."""

from collections.abc import Callable
from typing import Any

from kilit.batches.queues import Queue, queues
from tests.support import adjusted
from tests.support.conversions import make_failed, new_conversion
from tests.support.cutting_jobs import failure_columns, make_job
from tests.support.dashboard import make_site
from tests.support.outbox import make_failed_message, make_message
from tests.support.pdf_jobs import bring, new_job


def waiting_conversion() -> Any:
    row = new_conversion(make_site())
    row.save()
    return row


FAILED: dict[str, Callable[[], Any]] = {
    "conversion": lambda: make_failed(make_site())[0],
    "adjustment": lambda: adjusted.fail(adjusted.restate(adjusted.make_sold(adjusted.api_site()))),
    "pdf": lambda: bring(new_job(), "failed"),
    "cutting_job": lambda: make_job(order_id="S-2").move("fail", **failure_columns()),
    "message": make_failed_message,
}
WAITING: dict[str, Callable[[], Any]] = {
    "conversion": waiting_conversion,
    "adjustment": lambda: adjusted.restate(adjusted.make_sold(adjusted.api_site())),
    "pdf": lambda: new_job(number=2),
    "cutting_job": make_job,
    "message": make_message,
}


def list_address(queue: Queue) -> str:
    return f"/admin/{queue.model._meta.app_label}/{queue.model._meta.model_name}/"


LISTS = {name: list_address(queue) for name, queue in queues.items()}
# The verb by which people retry a job.
RETRY = {name: queue.operation("retry").verb for name, queue in queues.items()}
