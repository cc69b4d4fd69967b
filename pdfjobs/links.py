"""Links to one PDF that need no key.

A token is signed, not stored: it names the job, its file and its end. It stops working when the file is deleted, and
never gives access to another file. Its end is the database's time, as is the end of the file's life.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.signing import Signer
from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.models import Event
from pdfjobs.models import PdfJob
from pdfjobs.states import PdfStatus

LINK_CREATED = "LINK_CREATED"


class Link(NamedTuple):
    token: str
    expires_at: datetime


class DeadLinkError(Exception):
    """The link's time is over, or its file is deleted."""


def create_link(job: PdfJob, *, life: timedelta) -> Link:
    """Return a link to a finished job's file and record it; DeadLinkError if the file is deleted or about to be."""
    with transaction.atomic():
        # Locked, so that the record of the link precedes the end of the job.
        rows = PdfJob.objects.filter(pk=job.pk).defer("payload", "options").select_for_update()
        locked: Any = rows.annotate(now=Now()).get()
        if locked.status != PdfStatus.SUCCEEDED or locked.finished_at is None:
            raise DeadLinkError
        # Whole seconds: the token must not outlive what the caller reads.
        end = min(locked.now + life, locked.finished_at + settings.PDF_TTL).replace(microsecond=0)
        if end <= locked.now:
            raise DeadLinkError
        Event.objects.record(locked, LINK_CREATED, details={"expires_at": end.isoformat()})
    token = _signer().sign_object([locked.pk.hex, _fingerprint(locked), int(end.timestamp())])
    return Link(token, end)


def linked_job(token: str) -> PdfJob:
    """Return the job of a link; BadSignature if we did not sign its token."""
    job_id, fingerprint, end = _signer().unsign_object(token)  # compares in constant time, and reads nothing before
    ends_after_now = {"now__lt": datetime.fromtimestamp(end, UTC)}
    jobs = PdfJob.objects.alias(now=Now()).defer("payload", "options")
    job = jobs.filter(pk=UUID(job_id), **ends_after_now).first()
    if job is None or job.status != PdfStatus.SUCCEEDED or _fingerprint(job) != fingerprint:
        raise DeadLinkError
    return job


def _signer() -> Signer:
    return Signer(salt="pdfjobs.links", sep=".")


def _fingerprint(job: PdfJob) -> str:
    """Identify the file: the key differs for each attempt, and stays inside."""
    return hashlib.sha256(f"{job.artifact_key} {job.artifact_digest}".encode()).hexdigest()[:16]
