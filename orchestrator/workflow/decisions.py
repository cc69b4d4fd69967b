"""Operators' decisions about a job: retry, approve, cancel, and whether the saw has cut it.

Each takes effect once, however often it is sent.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import UUID

from django.db import transaction

from kilit.api.errors import ApiError
from kilit.lock.audit import current_context, for_reason
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from orchestrator.errors import PERMANENT_CODES, Code, JobError
from orchestrator.figures.job_figures import figures_of, to_json
from orchestrator.files.folders import Folders
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet, retry_blocker
from orchestrator.orders.enqueue import enqueue, ring
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import is_cut_in_part, mark_open_taken, taken_earlier
from orchestrator.schemas.rules import Rules
from orchestrator.states import CANCELLABLE, JobState


def find(pk: UUID) -> Job:
    job = Job.objects.filter(pk=pk).first()
    if job is None:
        raise ApiError(404, Code.JOB_NOT_FOUND, f"There is no job {pk}.")
    return job


def retry(pk: UUID) -> Job:
    """Move a failed job back to NEW, with a delay that grows each time."""
    rules = require_rules()
    reason = current_context().reason
    with transaction.atomic(), _with_reason("Retried by an operator."):
        job = apply(pk, lambda jobs: jobs.retry(most=rules.retry_count_max, backoff=rules.retry_backoff))
        if job is None:
            raise why_not_retried(pk, rules)
        due = {"retry_count": job.retry_count, "next_run_at": job.next_run_at.isoformat()}
        message = f"Retry {job.retry_count} of {rules.retry_count_max}."
        Event.objects.record(job, "JOB_RETRY_SCHEDULED", message=reason or message, details=due)
        ring()
    return job


def approve(pk: UUID) -> Job:
    with transaction.atomic(), _with_reason("Approved by an operator."):
        was = find(pk).error_code  # for the event only
        job = apply(pk, lambda jobs: jobs.approve())
        if job is None:
            job = find(pk)
            message = f"{job} cannot be approved: it is {job.status}."
            raise ApiError(409, Code.JOB_NOT_IN_HOLD, message, id=str(pk), state=job.status)
        Event.objects.record(job, "HOLD_APPROVED", message=current_context().reason, details={"was": was})
        ring()
    return job


def confirm_cut(pk: UUID) -> Job:
    """End a job as DONE: an operator found out at the saw that it was cut. Files that were not are delivered."""
    with transaction.atomic(), _with_reason("It was cut: an operator asked at the saw."):
        undecided = Job.objects.of_unknown_handover().filter(pk=pk).select_for_update(of=("self",)).first()
        if undecided:
            mark_open_taken(undecided)
        figures = figures_of(undecided) if undecided else None
        amounts = to_json(figures) if figures else None
        job = apply(pk, lambda jobs: jobs.confirm_cut(figures=amounts) or jobs.hand_over())
        if job is None:
            raise why_not_decided(pk, "confirm_cut")
        ring()
    return job


def hand_over(pk: UUID) -> Job:
    with transaction.atomic(), _with_reason("It was not cut: an operator asked at the saw."):
        job = apply(pk, lambda jobs: jobs.hand_over())
        if job is None:
            raise why_not_decided(pk, "hand_over")
        ring()
    return job


def send_again(pk: UUID) -> tuple[Job, bool]:
    """Store the order of a job that cannot be retried as the next revision; return its job, and whether it existed."""
    job = find(pk)
    if not can_be_sent_again(job, require_rules()):
        message = f"{job} cannot be sent again: it may be retried, is not FAILED, or is partly cut."
        raise ApiError(409, "MOVE_REFUSED", message, id=str(pk), state=job.status)
    return enqueue(
        order_from({**job.payload, "revision": job.revision + 1, "priority": Priority(job.priority).api_name})
    )


def can_be_sent_again(job: Job, rules: Rules) -> bool:
    is_final = job.error_code in PERMANENT_CODES or job.retry_count >= rules.retry_count_max
    is_open = job.status != JobState.FAILED or job.error_code == Code.HANDOVER_UNKNOWN
    return is_final and not is_open and not is_cut_in_part(job)


def cancel(pk: UUID) -> Job:
    waiting = Job.objects.filter(pk=pk, status__in=CANCELLABLE).exclude(delivery_names=[]).first()
    # These files are of earlier attempts: a cancellable job has delivered nothing in this one.
    taken = taken_earlier(waiting, Folders.from_settings()) if waiting else []
    reason = current_context().reason or "Cancelled by an operator."
    job = None if taken else apply(pk, lambda jobs: jobs.cancel(message=reason))
    if job is None:
        job = find(pk)
        if taken or (job.status in CANCELLABLE and is_cut_in_part(job)):
            message = f"{job} cannot be cancelled: the saw has taken {', '.join(taken) or 'a part of it'}."
            raise ApiError(409, "MOVE_REFUSED", message, id=str(pk), state=job.status)
        if job.status in CANCELLABLE:
            message = f"A runner is working on {job}; try again in a minute."
            raise ApiError(409, "JOB_IS_BUSY", message, retry_after=60, id=str(pk), state=job.status)
        raise MoveRefused(job, "cancel", job.status)
    return job


def apply(pk: UUID, verb: Callable[[JobQuerySet], int]) -> Job | None:
    """Apply a verb of the queryset to one job; return None if the row count says it did not apply."""
    return Job.objects.get(pk=pk) if verb(Job.objects.filter(pk=pk)) else None


def why_not_retried(pk: UUID, rules: Rules) -> Exception:
    job = find(pk)
    if job.status != JobState.FAILED:
        return MoveRefused(job, "retry", job.status)
    blocker = Job.objects.values_list(retry_blocker(most=rules.retry_count_max), flat=True).get(pk=pk)
    if blocker == Code.HANDOVER_UNKNOWN:
        message = f"{job} cannot be retried: the saw may have cut it. Ask there, then confirm-cut or hand-over."
    elif blocker in PERMANENT_CODES:
        message = f"{job} cannot be retried: {Code(blocker).label.lower()}. Send the order as a new revision."
    else:
        message = f"{job} has been retried {job.retry_count} times; the limit is {rules.retry_count_max}."
    return ApiError(409, blocker or Code.RETRY_LIMIT_REACHED, message, id=str(pk), state=job.status)


def why_not_decided(pk: UUID, verb: str) -> Exception:
    job = find(pk)
    if job.status != JobState.FAILED:
        return MoveRefused(job, verb, job.status)
    message = f"{job} needs no such decision: it is known what the saw did with its files."
    return ApiError(409, "HANDOVER_KNOWN", message, id=str(pk), state=job.status)


def _with_reason(default: str) -> AbstractContextManager[None]:
    return for_reason(current_context().reason or default)


def require_rules() -> Rules:
    try:
        return current_rules()
    except JobError as error:
        raise ApiError(503, error.code, error.message, retry_after=60) from None
