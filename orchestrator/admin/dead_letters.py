"""Failed cutting jobs as CSV rows."""

from typing import Any

from orchestrator.models import Job

COLUMNS = (
    "id",
    "orderId",
    "revision",
    "customerPhone",
    "customerName",
    "mode",
    "parts",
    "retries",
    "errorCode",
    "errorMessage",
    "createdAt",
    "failedAt",
)


def cells(job: Job) -> list[Any]:
    return [
        job.pk,
        job.order_id,
        job.revision,
        job.customer_phone,
        job.customer.name if job.customer else job.customer_snapshot_name,
        job.opti_mode,
        job.part_count,
        job.retry_count,
        job.error_code,
        job.error_message,
        job.created_at.isoformat(),
        job.updated_at.isoformat(),
    ]
