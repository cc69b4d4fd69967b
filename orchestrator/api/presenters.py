"""Jobs and customers as the API returns them; the fields are those of the response types."""

from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from django.db.models import Model

from kilit.api.cursor import encode_cursor
from kilit.lock.models import Event
from orchestrator.filters import FILTERS
from orchestrator.models import Customer, Job
from orchestrator.schemas.jobs import AuditLine, CustomerShown, CuttingJobsQuery, JobShown, JobWhole


def present_job(job: Job) -> dict[str, Any]:
    return _present(job, JobShown, **_job_values(job))


def present_job_detail(job: Job) -> dict[str, Any]:
    solution = job.solution if job.xml_sha256 else None
    audit = [_present(event, AuditLine) for event in Event.objects.history(job)]
    return _present(job, JobWhole, **_job_values(job), solution=solution, audit=audit)


def _job_values(job: Job) -> dict[str, Any]:
    return {"id": str(job.pk), "state": job.status, "claimed": job.claim_token is not None}


def present_customer(customer: Customer) -> dict[str, Any]:
    return _present(customer, CustomerShown)


def _present(row: Model, shape: type, **values: Any) -> dict[str, Any]:
    """Return the fields of a response type: the values given, or the columns of the same name."""
    found = {}
    for name, is_nullable in _fields(shape).items():
        value = values[name] if name in values else getattr(row, name)
        if isinstance(value, datetime):
            value = value.isoformat()
        found[name] = None if is_nullable and value == "" else value
    return found


@cache
def _fields(shape: type) -> dict[str, bool]:
    return {name: NoneType in get_args(hint) for name, hint in get_type_hints(shape).items()}


def job_page(query: CuttingJobsQuery) -> dict[str, Any]:
    """Return a page of jobs, newest first, and the cursor of the next; ids never change, so pages are stable."""
    filters = {"status": query.state.value} if query.state else {}
    jobs = FILTERS.apply(Job.objects.defer("payload"), filters).order_by(*FILTERS.ordering(filters), "-id")
    jobs = jobs.filter(order_id=query.order_id) if query.order_id else jobs
    jobs = jobs.filter(pk__lt=query.cursor) if query.cursor else jobs
    found = list(jobs[: query.limit + 1])
    page: dict[str, Any] = {"jobs": [present_job(job) for job in found[: query.limit]]}
    if len(found) > query.limit:
        page["next_cursor"] = encode_cursor(found[query.limit - 1].pk)
    return page
