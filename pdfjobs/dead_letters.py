"""Failed PDF jobs as rows of a CSV file."""

from typing import Any

from pdfjobs.models import PdfJob

COLUMNS = (
    "id",
    "owner",
    "template",
    "jobKey",
    "retries",
    "errorCode",
    "errorDetail",
    "createdAt",
    "failedAt",
)


def cells(job: PdfJob) -> list[Any]:
    """Return one row. Variables are left out: they may contain personal data."""
    return [
        job.job_id,
        job.owner.get_username(),
        job.template_name,
        job.job_key,
        job.retry_count,
        job.error_code,
        job.error_detail,
        job.created_at.isoformat(),
        job.finished_at.isoformat() if job.finished_at else "",
    ]
