"""What a worker does with jobs: claim, render, store, finish.

No transaction is open while the browser renders, and the ORM never runs in the browser's thread.
"""

import logging
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from kilit.api.input_model import InvalidInput
from kilit.lock.audit import acting_as
from kilit.lock.fast_sql import CompiledValues
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Event
from kilit.trace import job_trace
from kilit.workers import doorbells
from pdfjobs.documents import DocumentError, UnknownTemplateError, document
from pdfjobs.models import PdfJob
from pdfjobs.models.turns import LEASE_BEYOND_TIMEOUT, TurnClaim, not_left
from pdfjobs.rendering import PageOptions, RenderError, render
from pdfjobs.states import PDF_JOBS, ErrorCode
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

BELL = PDF_JOBS.queue
ACTOR = "worker:pdf"
# After this a worker rings again and returns, so that scheduled tasks and heartbeats get their turn.
TURN = 10.0  # seconds
# django-q2 kills a task after TASK_TIMEOUT. A job must end before: launch (10 s) and upload come on top of rendering.
BEYOND_TIMEOUT = timedelta(seconds=15)
# A job of a newer version waits this long for a worker of that version, and meanwhile an older one looks so often.
VERSION_WAIT = timedelta(minutes=10)
LEFT_FOR = 30.0  # seconds
VERSION_MISMATCH = (
    "The templates, fonts or browser of this worker are older than those of the process that created the job: "
    "restart the workers, too."
)

_loaded_at = time.monotonic()  # of this process's code: a worker is forked from a process that has loaded it
_left: dict[UUID, float] = {}  # jobs that this process left to others, and until when
_served: dict[int, None] = {}  # owners whose jobs this process claimed, the last one last
_claim = TurnClaim(PdfJob.objects.claimable().filter(not_left()))


class OlderVersionError(Exception):
    """The job was created by a newer version than this worker's."""


def run_due_jobs() -> None:
    """Process jobs one after the other. If more are waiting, ring once for another worker, which does the same."""
    if reason := artifacts.reason_unavailable():
        # Every job would be rendered in vain. They wait, and the supervisor rings again soon.
        logger.warning("PDF files cannot be stored; jobs wait until they can. %s", reason)
        return
    end, has_rung = time.monotonic() + TURN, False
    with acting_as(ACTOR):
        while job := claim():
            if not has_rung and _others().run():
                doorbells.ring_now(BELL)
                has_rung = True  # later jobs ring when they are created
            with job_trace(Event.objects.trace_of(job), "pdf job"):
                may_continue = process(job)
            if not may_continue:
                return  # without a ring: what could not be stored is not retried at once
            if time.monotonic() > end:
                break
        else:
            return  # nothing left to claim
    doorbells.ring_if_due(BELL)


def claim() -> PdfJob | None:
    """Claim the next job; then other owners have their turn."""
    now = time.monotonic()
    for pk in [pk for pk, until in _left.items() if until < now]:
        del _left[pk]
    job = _claim.run(served=list(_served), left=list(_left))
    if job:
        _served.pop(job.owner_id, None)
        _served[job.owner_id] = None
    return job


# What each job asks, compiled once (kilit.lock.fast_sql).
@cache
def _others() -> CompiledValues:
    # By the order of its index; for EXISTS the planner may read the table, and dead rows at its beginning.
    return CompiledValues(PdfJob.objects.claimable().order_by("queued_at", "id").values_list("pk")[:1])


def process(job: PdfJob) -> bool:
    """Finish or fail a claimed job. Return whether another may follow: not if the storage did not take the file."""
    try:
        pdf = render_job(job)
        # Stored before the row says so: a crash in between leaves an orphaned file, which the cleanup removes.
        artifact = artifacts.save(artifacts.new_key(job.pk, job.started_at or job.created_at), pdf)
    except RenderError as error:
        fail(job, error.code, error.detail)
    except OlderVersionError:
        release(job)
    except (DocumentError, UnknownTemplateError) as error:
        fail(job, error.code, str(error))
    except artifacts.StorageUnavailable as error:
        fail(job, ErrorCode.STORAGE_UNAVAILABLE, f"The PDF could not be stored: {error}")
        return False
    except Exception as error:
        logger.exception("pdf job failed", extra={"job_id": job.job_id})
        fail(job, ErrorCode.UNKNOWN, f"{type(error).__name__}: {error}")
    else:
        finish(job, artifact)
    return True


def render_job(job: PdfJob) -> bytes:
    template = document(job.template_name)
    try:
        options = PageOptions.read(job.options)
    except InvalidInput as error:  # stored by another version
        raise RenderError(ErrorCode.UNKNOWN, f"The stored options are invalid. {error}") from None
    # Later requests with this key get this file, so it must not come from an older version than the key's.
    if template.job_key(job.payload, options) != job.job_key and not is_newer_than(job):
        raise OlderVersionError
    # Ranges of pages, and the structure of a tagged document, are those of one page of HTML.
    is_whole = bool(options.pages) or options.tagged
    pages = [template.html(job.payload)] if is_whole else with_lease(job, template.pages(job.payload))
    # Check kilit.W005 warns when TASK_TIMEOUT allows less than a caller may ask for.
    allowed = max(timedelta(seconds=settings.TASK_TIMEOUT) - BEYOND_TIMEOUT, timedelta(seconds=1))
    timeout = min(job.timeout, allowed)
    return render(
        pages, options, made_at=job.created_at, hard_timeout=timeout, whole_timeout=allowed, owner=job.owner_id
    )


def with_lease(job: PdfJob, pages: Iterable[str]) -> Iterator[str]:
    """Yield the parts of a document; each has the job's timeout, and for each but the first the lease is renewed."""
    for number, page in enumerate(pages):
        if number:
            PdfJob.objects.held_by(job).update(lease_until=Now() + job.timeout + LEASE_BEYOND_TIMEOUT)
        yield page


def is_newer_than(job: PdfJob) -> bool:
    """Return whether this process loaded its code after the job was created: then it is of the version installed last.

    Only spans are compared, one of this machine's clock and one of the database's.
    """
    uptime = timedelta(seconds=time.monotonic() - _loaded_at)
    return uptime < age_of(job)


def age_of(job: PdfJob) -> timedelta:
    return (job.started_at or job.created_at) - job.created_at


def release(job: PdfJob) -> None:
    """Release a job for a worker of its version. A job that has waited too long for one fails."""
    if age_of(job) > VERSION_WAIT:
        fail(job, ErrorCode.VERSION_MISMATCH, VERSION_MISMATCH)
        return
    _left[job.pk] = time.monotonic() + LEFT_FOR
    PdfJob.objects.held_by(job).release()
    logger.warning("%s is of a newer version and waits for a worker of that version", job)


def finish(job: PdfJob, artifact: artifacts.Artifact) -> None:
    """Mark the job as succeeded; if the reaper has taken it away meanwhile, delete the file."""
    try:
        job.succeed(artifact_key=artifact.artifact_key, size=artifact.size, digest=artifact.digest)
    except MoveRefused as refused:
        logger.warning("%s; its file is deleted", refused, extra={"job_id": job.job_id})
        artifacts.delete(artifact.artifact_key)
    else:
        logger.info("pdf job succeeded", extra={"job_id": job.job_id, "bytes": artifact.size})


def fail(job: PdfJob, code: str, detail: str) -> None:
    result = PdfJob.objects.held_by(job).fail(code=code, detail=detail)
    if not result.failed:
        logger.warning("%s was taken away meanwhile; its failure is not counted twice", job)
    logger.info("pdf job failed", extra={"job_id": job.job_id, "code": code, "retried": bool(result.retried)})


def recover() -> str:
    result = PdfJob.objects.recover()
    if result.retried:
        doorbells.ring(BELL)
    return f"Reaped {len(result.failed)}, of which {len(result.retried)} are retried."
