"""Stores jobs, each document once at a time."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from kilit.lock.audit import for_reason
from kilit.lock.guard import MoveRefused
from kilit.workers import doorbells
from pdfjobs.job_key import job_key
from pdfjobs.job_request import JobRequest
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS, PdfStatus
from pdfjobs.storage import artifacts

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ATTEMPTS = 5


class QueueFullError(Exception):
    """More jobs wait than the workers are allowed to be behind, or a key changes hands faster than we look."""


def enqueue(owner: "User", entry: JobRequest) -> tuple[PdfJob, bool]:
    """Return the job that makes a document, and whether it is new.

    The index of live keys decides, not a look before: of fifty callers who ask for the same at once, one inserts and
    the others find its row. A job that ended between their insert and their look is asked for once more.
    """
    key = job_key(entry.document, entry.variables, entry.options)
    for _ in range(ATTEMPTS):
        if queue_is_full():
            job, mine = PdfJob.objects.owned_by(owner).live().filter(job_key=key).first(), False
            if job is None:
                raise QueueFullError
        else:
            job, mine = insert_or_find(owner, entry, key)
        if job and (mine or job.status != PdfStatus.SUCCEEDED or has_file(job)):
            return job, mine
    raise QueueFullError


def insert_or_find(owner: "User", entry: JobRequest, key: str) -> tuple[PdfJob | None, bool]:
    """Insert a job unless its key is taken; return the one that has the key, and whether it is the new one.

    A new one is returned as it was stored, without reading all of it back.
    """
    new = PdfJob(
        owner=owner,
        job_key=key,
        template_name=entry.document.name,
        payload=entry.variables,
        options=entry.options.canonical(),
        timeout=entry.timeout,
    )
    with transaction.atomic():
        PdfJob.objects.bulk_create([new], ignore_conflicts=True)
        doorbells.ring(PDF_JOBS.queue)
    # By its id first: a worker may be done with it, and its key free again, before we look.
    if created := list(PdfJob.objects.filter(pk=new.pk).values_list("created_at", flat=True)):
        (new.created_at,) = created
        return new, True
    return PdfJob.objects.owned_by(owner).live().filter(job_key=key).first(), False


def has_file(job: PdfJob) -> bool:
    """Tell whether a finished job still has its file; one that lost it is ended, so that it can be made anew."""
    if artifacts.exists(job.artifact_key):
        return True
    note_lost(job)
    return False


def note_lost(job: PdfJob) -> None:
    """End a finished job whose file is missing."""
    with for_reason("Its file is missing."), transaction.atomic():
        try:
            job.expire(where={"artifact_key": job.artifact_key})
        except MoveRefused:
            return  # somebody else noticed


def queue_is_full() -> bool:
    """Tell whether as many jobs wait as may; counting stops there."""
    return PdfJob.objects.due()[: settings.PDF_QUEUE_LIMIT].count() >= settings.PDF_QUEUE_LIMIT
