"""Links on which customers see how far one order is, without a login.

A token is signed, not stored: it names the job and the number of the link. It works until the link is withdrawn; the
next link of the job has another number.
"""

from uuid import UUID

from django.core.signing import Signer
from django.db import transaction
from django.db.models import F

from kilit.lock.models import Activity, ActivityKind, Event
from orchestrator.models import Job
from orchestrator.states import JOBS

LINK_CREATED, LINK_WITHDRAWN = "STATUS_LINK_CREATED", "STATUS_LINK_WITHDRAWN"


class WithdrawnLink(Exception):
    """We signed the link, and someone has withdrawn it."""


def create_link(job: Job) -> bool:
    return _change(job, LINK_CREATED, is_on=False, number=1 - F("status_link"))


def withdraw_link(job: Job) -> bool:
    return _change(job, LINK_WITHDRAWN, is_on=True, number=-F("status_link"))


def _change(job: Job, event: str, *, is_on: bool, number: object) -> bool:
    """Record who changed the link; False if someone did it before."""
    rows = Job.objects.filter(pk=job.pk, **{"status_link__gt" if is_on else "status_link__lte": 0})
    with transaction.atomic():
        if not rows.update(status_link=number):
            return False
        Event.objects.record(job, event)
        Activity.objects.record(ActivityKind.ACTION, event, queue=JOBS.queue, object_id=str(job.pk))
    job.refresh_from_db(fields=["status_link"])
    return True


def token_of(job: Job) -> str:
    """Return the token of the job's link, or "" if it has none."""
    return _signer().sign_object([job.pk.hex, job.status_link]) if job.status_link > 0 else ""


def linked_job(token: str) -> Job:
    """Return the job of a link; BadSignature if we did not sign its token."""
    job_id, number = _signer().unsign_object(token)
    jobs = Job.objects.filter(pk=UUID(job_id), status_link=number, status_link__gt=0)
    job = jobs.only("order_id", "status", "error_code", "due_on", "updated_at").first()
    if job is None:
        raise WithdrawnLink
    return job


def _signer() -> Signer:
    return Signer(salt="orchestrator.status_links", sep=".")
