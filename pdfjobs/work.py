"""What a worker does with jobs: claim, render, store, settle.

No transaction is open while the browser works, and the ORM never runs in its thread.
"""

import logging
import time
from datetime import timedelta

from django.conf import settings

from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.workers import doorbells
from pdfjobs.documents import DocumentError, UnknownTemplateError, document
from pdfjobs.job_key import job_key
from pdfjobs.models import PdfJob
from pdfjobs.rendering import OptionsError, PageOptions, RenderError, render
from pdfjobs.states import PDF_JOBS, ErrorCode
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

BELL = PDF_JOBS.queue
ACTOR = "worker:pdf"
# After this a worker rings again instead of going on, so that sweeps and heartbeats get their turn.
TURN = 10.0  # seconds
# A task of django-q2 is ended by force; a job must be over before: its launch (10 s) and its upload come on top.
BEYOND_TIMEOUT = timedelta(seconds=15)
OTHER_VERSION = (
    "The templates, fonts or browser of this worker differ from those of the process that took the job: "
    "bring web and workers to the same version, and ask for the document again."
)


def is_due() -> bool:
    return PdfJob.objects.due().exists()


def answer() -> None:
    """Work jobs one after the other, and call one more worker to the rest; that one calls the next."""
    if artifacts.is_unavailable():
        # Each job would be rendered and lost; they wait, and the supervisor rings again in a moment.
        logger.warning("the store of PDF files does not answer; jobs wait until it is back")
        return
    end, alone = time.monotonic() + TURN, True
    with acting_as(ACTOR):
        while claimed := PdfJob.objects.claim(limit=1):
            if alone and is_due():
                doorbells.ring_now(BELL)
                alone = False  # whoever stores a job rings too: asking again at each would find the same answer
            if not work(claimed[0]):
                return  # without a ring: what the store refused is not tried again at once
            if time.monotonic() > end:
                break
        else:
            return  # the last claim found nothing
    if is_due():
        doorbells.ring_now(BELL)


def work(job: PdfJob) -> bool:
    """Bring a claimed job to its end, and tell whether another can follow: not while its file could not be stored."""
    try:
        pdf = make(job)
        # Kept before the row says so: a crash in between leaves a file of nobody, which the cleanup finds.
        kept = artifacts.save(artifacts.new_key(job.pk, job.started_at or job.created_at), pdf)
    except RenderError as fault:
        fail(job, fault.code, fault.detail)
    except (DocumentError, UnknownTemplateError) as fault:
        fail(job, ErrorCode.TEMPLATE_ERROR, str(fault))
    except artifacts.StorageUnavailable as fault:
        fail(job, ErrorCode.STORAGE_UNAVAILABLE, f"The PDF could not be stored: {fault}")
        return False
    except Exception as error:
        logger.exception("pdf job failed", extra={"job_id": job.job_id})
        fail(job, ErrorCode.UNKNOWN, f"{type(error).__name__}: {error}")
    else:
        finish(job, kept)
    return True


def make(job: PdfJob) -> bytes:
    """Return the job's document as a PDF."""
    asked = document(job.template_name)
    try:
        options = PageOptions.read(job.options)
    except OptionsError as fault:  # stored by an older version
        raise RenderError(ErrorCode.UNKNOWN, str(fault)) from None
    # The key promises these templates, fonts and browser to whoever asks next: nothing else may be kept under it.
    if job_key(asked, job.payload, options) != job.job_key:
        raise RenderError(ErrorCode.VERSION_MISMATCH, OTHER_VERSION)
    html = asked.html(job.payload)
    # kilit.W005 tells of a task timeout that leaves a job less than it may ask for.
    allowed = max(timedelta(seconds=settings.TASK_TIMEOUT) - BEYOND_TIMEOUT, timedelta(seconds=1))
    hard = min(job.timeout, allowed)
    return render(html, options, made_at=job.created_at, hard_timeout=hard, owner=job.owner_id)


def finish(job: PdfJob, kept: artifacts.Artifact) -> None:
    """Say that the file is there; a worker whose job was taken away meanwhile takes its file back."""
    try:
        job.succeed(artifact_key=kept.artifact_key, size=kept.size, digest=kept.digest)
    except MoveRefused as refused:
        logger.warning("%s; its file is dropped", refused, extra={"job_id": job.job_id})
        artifacts.delete(kept.artifact_key)


def fail(job: PdfJob, code: str, detail: str) -> None:
    """Say that it failed; when it is to be tried again, somebody is called to it."""
    outcome = PdfJob.objects.held_by(job).fail(code=code, detail=detail)
    if not outcome.failed:
        logger.warning("%s was taken away meanwhile; its failure is not counted twice", job)
    logger.info("pdf job failed", extra={"job_id": job.job_id, "code": code, "retried": bool(outcome.retried)})
