"""Creates jobs: one at a time for the same document of an owner."""

import logging
from functools import cache

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import IntegerField
from django.utils.translation import gettext_noop

from kilit.lock.audit import for_reason
from kilit.lock.fast_sql import parameter
from kilit.lock.inserts import insert_or_find
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.sentences import sentence
from kilit.workers import doorbells
from kilit.workers.due_rows import BoundSql, any_exists, exists_query
from kilit.workers.models import Heartbeat
from pdfjobs.job_request import JobRequest
from pdfjobs.models import PdfCallback, PdfJob
from pdfjobs.states import CALLBACK_REQUESTED, FILE_CHANGED, PDF_JOBS, UNFINISHED, PdfStatus
from pdfjobs.storage import artifacts

logger = logging.getLogger(__name__)

CHANGED = sentence("FILE_CHANGED", gettext_noop("Its file was changed after it was stored."))
MISSING = sentence("FILE_MISSING", gettext_noop("Its file is missing."))
ATTEMPTS = 5
MOST_CALLBACKS = 10  # of one job
HAS_WORKER, QUEUE_FULL, SHARE_FULL = "has worker", "queue full", "share full"


class NoWorkerError(Exception):
    """No worker is available, and the caller does not want to wait for one."""


class QueueFullError(Exception):
    """More jobs wait than the limits allow, or other callers kept taking and freeing the key."""

    def __init__(self, message: str = "Too many jobs are waiting; try again later.") -> None:
        super().__init__(message)


class TooManyCallbacksError(Exception):
    """The job has MOST_CALLBACKS addresses already."""


def enqueue(owner: User, request: JobRequest, *, needs_worker: bool = False) -> tuple[PdfJob, bool]:
    """Return the job for a document, and whether it is new; with `needs_worker`, only while one is available.

    The index of live keys decides: of fifty callers with the same request, one inserts and the others find its row. If
    that job ended between a caller's insert and its query, the caller tries again.
    """
    for _ in range(ATTEMPTS):
        facts = read_state(owner)
        if needs_worker and HAS_WORKER not in facts:
            raise NoWorkerError
        key = request.document.job_key(request.variables, request.options)
        with_key = PdfJob.objects.owned_by(owner).live().filter(job_key=key)
        if facts & {QUEUE_FULL, SHARE_FULL}:
            if (live := with_key.first()) is None:
                raise QueueFullError if QUEUE_FULL in facts else share_full()
            job, is_new = live, False
        else:
            try:
                job, is_new = insert_or_find(new_job(owner, request, key), with_key)
            except PdfJob.DoesNotExist:
                continue
            doorbells.ring(PDF_JOBS.queue)
        if is_new or job.status != PdfStatus.SUCCEEDED or artifacts.exists(job.artifact_key):
            return job, is_new
        expire_missing(job)
    raise QueueFullError


def share_full() -> QueueFullError:
    """Refuse more jobs of an owner than PDF_QUEUE_LIMIT_PER_OWNER: the rest of the queue is for others."""
    most = settings.PDF_QUEUE_LIMIT_PER_OWNER
    return QueueFullError(f"{most:,} of your jobs are waiting, as many as may; try again later.")


def new_job(owner: User, request: JobRequest, key: str) -> PdfJob:
    return PdfJob(
        owner=owner,
        job_key=key,
        template_name=request.document.name,
        **request.document.names(request.variables),
        payload=request.variables,
        options=request.options.canonical(),
        timeout=request.timeout,
        priority=request.priority,
    )


def request_callback(job: PdfJob, url: str) -> None:
    """Have the result of a job sent to an address.

    The row is locked: either the move that ends the job comes later and finds the address, or the job has ended. Then
    the request itself is recorded, and leads to the call.
    """
    with transaction.atomic():
        row = PdfJob.objects.select_for_update().only("status").get(pk=job.pk)
        is_late = row.status not in UNFINISHED
        callback = PdfCallback.objects.filter(job=row, url=url).first()
        if callback is None:
            if PdfCallback.objects.filter(job=row).count() >= MOST_CALLBACKS:
                raise TooManyCallbacksError
            callback = PdfCallback.objects.create(job=row, url=url, is_late=is_late)
        if is_late:
            Event.objects.record(row, CALLBACK_REQUESTED, details={"callback": callback.pk})


def expire_missing(job: PdfJob) -> None:
    """Expire a finished job whose file is missing, which frees its key."""
    with for_reason(MISSING):
        PdfJob.objects.filter(pk=job.pk, artifact_key=job.artifact_key).expire()


def expire_changed(job: PdfJob) -> None:
    """Expire a finished job whose file is not the one that was stored, and report it to operators.

    The next cleanup deletes the file as one that belongs to no job; until then it can be examined.
    """
    logger.error("a stored PDF was changed; it is not served", extra={"artifact_key": job.artifact_key})
    with for_reason(CHANGED), transaction.atomic():
        if PdfJob.objects.filter(pk=job.pk, artifact_key=job.artifact_key).expire():  # no other request was faster
            Activity.objects.record(ActivityKind.ACTION, FILE_CHANGED, queue=PDF_JOBS.queue, object_id=job.job_id)


def read_state(owner: User) -> set[str]:
    """Return whether there is a worker, and which limits of waiting jobs are reached."""
    return _state_query(settings.PDF_QUEUE_LIMIT, settings.PDF_QUEUE_LIMIT_PER_OWNER).run(owner=owner.pk)


@cache
def _state_query(most: int, share: int) -> BoundSql:
    """Return the query of each request: is there a worker, and do so many jobs wait, of all owners or of one."""
    waiting = PdfJob.objects.due()
    of_owner = waiting.filter(owner=parameter("owner", IntegerField()))
    return exists_query(
        {
            HAS_WORKER: any_exists(lambda: [Heartbeat.objects.alive()]),
            QUEUE_FULL: any_exists(lambda: [waiting[most - 1 : most]]),
            SHARE_FULL: any_exists(lambda: [of_owner[share - 1 : share]]),
        }
    )
