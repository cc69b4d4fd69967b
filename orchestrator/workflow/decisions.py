"""What people decide about a job: retry, approve, cancel; each counts once, however often it is clicked."""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction

from kilit.api.errors import ApiError
from kilit.lock.audit import acting
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Event
from orchestrator.errors import PERMANENT_CODES, Code, JobError
from orchestrator.files.folders import Folders
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet, retry_blocker
from orchestrator.orders.enqueue import ring
from orchestrator.planning.rules import Rules, current_rules
from orchestrator.saw.saw_handover import is_cut_in_part, take_back
from orchestrator.states import CANCELLABLE, JobState

Verb = Callable[[UUID], Job]


def find(pk: UUID) -> Job:
    job = Job.objects.filter(pk=pk).first()
    if job is None:
        raise ApiError(404, Code.JOB_NOT_FOUND, f"There is no job {pk}.")
    return job


def retry(pk: UUID) -> Job:
    """Bring a failed job back to NEW, later each time, while it may be retried."""
    rules = rules_in_force()
    with transaction.atomic():
        job = decided(pk, lambda jobs: jobs.retry(most=rules.retry_count_max, backoff=rules.retry_backoff))
        if job is None:
            raise why_not_retried(pk, rules)
        due = {"retry_count": job.retry_count, "next_run_at": job.next_run_at.isoformat()}
        Event.objects.record(job, "JOB_RETRY_SCHEDULED", details=due)
        ring()
    return job


def approve(pk: UUID) -> Job:
    """Let a held job go on from NEW."""
    with transaction.atomic():
        held = find(pk).error_code  # only told, never judged by
        job = decided(pk, lambda jobs: jobs.approve())
        if job is None:
            job = find(pk)
            message = f"{job} cannot be approved: it is {job.status}."
            raise ApiError(409, Code.JOB_NOT_IN_HOLD, message, id=str(pk), state=job.status)
        Event.objects.record(job, "HOLD_APPROVED", details={"was": held})
        ring()
    return job


def cancel(pk: UUID) -> Job:
    """End a job that the saw has not got, with E_CANCELLED and the reason given."""
    waiting = Job.objects.filter(pk=pk, status__in=CANCELLABLE).exclude(delivery_names=[]).first()
    # Of earlier attempts, because this one has handed over nothing yet.
    taken = take_back(waiting, Folders.from_settings()) if waiting else []
    reason = acting().reason or "Cancelled by an operator."
    job = None if taken else decided(pk, lambda jobs: jobs.cancel(message=reason))
    if job is None:
        job = find(pk)
        if taken or (job.status in CANCELLABLE and is_cut_in_part(job)):
            message = f"{job} cannot be cancelled: the saw has taken {', '.join(taken) or 'a part of it'}."
            raise ApiError(409, "MOVE_REFUSED", message, id=str(pk), state=job.status)
        if job.status in CANCELLABLE:
            busy = f"{job} is being worked on at this moment; try again in a minute."
            raise ApiError(409, "JOB_IS_BUSY", busy, retry_after=60, id=str(pk), state=job.status)
        raise MoveRefused(job, "cancel", job.status)
    return job


def decided(pk: UUID, verb: Callable[[JobQuerySet], int]) -> Job | None:
    """Apply a verb of the queryset to one job; the row count says whether it applied."""
    return Job.objects.get(pk=pk) if verb(Job.objects.filter(pk=pk)) else None


def why_not_retried(pk: UUID, rules: Rules) -> Exception:
    job = find(pk)
    if job.status != JobState.FAILED:
        return MoveRefused(job, "retry", job.status)
    blocker = Job.objects.values_list(retry_blocker(most=rules.retry_count_max), flat=True).get(pk=pk)
    if blocker in PERMANENT_CODES:
        message = f"{job} cannot be retried: {Code(blocker).label.lower()}. Send the order as a new revision."
    else:
        message = f"{job} has been retried {job.retry_count} times; the limit is {rules.retry_count_max}."
    return ApiError(409, blocker or Code.RETRY_LIMIT_REACHED, message, id=str(pk), state=job.status)


def rules_in_force() -> Rules:
    """Return the rules, or refuse while there are none."""
    try:
        return current_rules()
    except JobError as fault:
        raise ApiError(503, fault.code, fault.message, retry_after=60) from None
