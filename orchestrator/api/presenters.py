"""Jobs as the API returns them."""

from typing import Any

from kilit.api.cursor import page_body
from kilit.api.presenter import present
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from orchestrator.errors import WarningCode
from orchestrator.figures.job_figures import figures_of, to_json
from orchestrator.filters import FILTERS
from orchestrator.models import Job
from orchestrator.schemas.jobs import AuditLine, CuttingJobsQuery, JobShown, JobWarning, JobWhole, SimilarJob


def present_job(job: Job, shape: type = JobShown, **values: object) -> dict[str, Any]:
    warnings = [warning] if (warning := present_warning(job)) else []
    columns = {"id": str(job.pk), "state": job.status, "priority": Priority(job.priority).api_name}
    return present(job, shape, claimed=job.claim_token is not None, warnings=warnings, **columns, **values)


def present_similar(jobs: list[Job]) -> list[dict[str, Any]]:
    return [present(job, SimilarJob, job_id=str(job.pk)) for job in jobs]


def present_warning(job: Job) -> JobWarning | None:
    if not job.warning_code:
        return None
    details = job.warning_details or {}
    parts, beyond = details.get("parts", []), details.get("beyond", 0)
    names = ", ".join(parts) + (f" and {beyond} more" if beyond else "")
    message = f"Larger than the plate of {details.get('plate', '?')}: {names}."
    return {"code": WarningCode(job.warning_code), "message": message, "parts": parts}


def present_job_detail(job: Job) -> dict[str, Any]:
    solution = job.solution if job.xml_sha256 else None
    audit = [present(event, AuditLine, job_id=str(job.pk)) for event in Event.objects.history(job)]
    figures = figures_of(job)
    return present_job(job, JobWhole, solution=solution, figures=figures and to_json(figures), audit=audit)


def job_page(query: CuttingJobsQuery) -> dict[str, Any]:
    filters = {"status": query.state.value} if query.state else {}
    jobs = FILTERS.apply(Job.objects.defer("payload", "figures"), filters).order_by(*FILTERS.ordering(filters), "-id")
    jobs = jobs.filter(order_id=query.order_id) if query.order_id else jobs
    jobs = jobs.filter(pk__lt=query.cursor) if query.cursor else jobs
    return page_body("jobs", list(jobs[: query.limit + 1]), query.limit, present_job)
