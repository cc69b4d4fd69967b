"""Jobs and customers as the API returns them."""

from typing import Any

from kilit.api.cursor import decode_cursor, encode_cursor
from kilit.lock.models import Event
from orchestrator.filters import FILTERS
from orchestrator.models import Customer, Job

TIMES = ("next_run_at", "created_at", "updated_at", "imported_at", "opti_started_at", "handed_at", "finished_at")


def present_job(job: Job) -> dict[str, Any]:
    times = {name: getattr(job, name) for name in TIMES}
    return {
        "id": str(job.pk),
        "state": job.status,
        "order_id": job.order_id,
        "customer_phone": job.customer_phone,
        "customer_snapshot_name": job.customer_snapshot_name or None,
        "customer_id": job.customer_id,
        "opti_mode": job.opti_mode,
        "revision": job.revision,
        "payload_hash": job.payload_hash,
        "part_count": job.part_count,
        "retry_count": job.retry_count,
        "manual_trigger_approved": job.manual_trigger_approved,
        "claimed": job.claim_token is not None,
        "error_code": job.error_code or None,
        "error_message": job.error_message or None,
        **{name: time and time.isoformat() for name, time in times.items()},
    }


def present_job_detail(job: Job) -> dict[str, Any]:
    return {
        **present_job(job),
        "plate_size": job.plate_size,
        "batch_count": job.batch_count,
        "backing_edge_reset_count": job.backing_edge_reset_count,
        "files": job.files,
        "solution": job.solution if job.xml_sha256 else None,
        "xml_sha256": job.xml_sha256 or None,
        "delivery_names": job.delivery_names,
        "payload": job.payload,
        "audit": [present_event(event) for event in Event.objects.history(job)],
    }


def present_event(event: Event) -> dict[str, Any]:
    return {
        "id": event.pk,
        "event_type": event.event_type,
        "from_state": event.from_state or None,
        "to_state": event.to_state or None,
        "actor": event.actor,
        "message": event.message,
        "details": event.details,
        "created_at": event.created_at.isoformat(),
    }


def present_customer(customer: Customer) -> dict[str, Any]:
    return {
        "id": customer.pk,
        "phone": customer.phone,
        "name": customer.name,
        "created_at": customer.created_at.isoformat(),
    }


def job_page(*, limit: int, state: str | None, order_id: str | None, cursor: str | None) -> dict[str, Any]:
    """Return a page of jobs, newest first, and the cursor of the next; ids never change, so pages are stable."""
    filters = {"status": state} if state else {}
    jobs = FILTERS.apply(Job.objects.defer("payload"), filters).order_by(*FILTERS.ordering(filters), "-id")
    jobs = jobs.filter(order_id=order_id) if order_id else jobs
    jobs = jobs.filter(pk__lt=decode_cursor(cursor)) if cursor else jobs
    found = list(jobs[: limit + 1])
    page: dict[str, Any] = {"jobs": [present_job(job) for job in found[:limit]]}
    if len(found) > limit:
        page["next_cursor"] = encode_cursor(found[limit - 1].pk)
    return page
