"""Failed cutting jobs as CSV rows."""

from datetime import datetime
from typing import Any

from orchestrator.models import Job

FIELDS = {
    "id": "pk",
    "orderId": "order_id",
    "revision": "revision",
    "customerPhone": "customer_phone",
    "customerName": "customer_name",
    "mode": "opti_mode",
    "parts": "part_count",
    "retries": "retry_count",
    "errorCode": "error_code",
    "errorMessage": "error_message",
    "createdAt": "created_at",
    "failedAt": "updated_at",
}
COLUMNS = tuple(FIELDS)


def cells(job: Job) -> list[Any]:
    values = [getattr(job, name) for name in FIELDS.values()]
    return [value.isoformat() if isinstance(value, datetime) else value for value in values]
