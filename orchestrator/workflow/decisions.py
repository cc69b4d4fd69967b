"""Operators' decisions about a job: retry, approve, cancel, and whether the saw has cut it.

Each takes effect once, however often it is sent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Q, Value, When
from django.utils.translation import gettext, gettext_noop

from kilit.api.errors import ApiError
from kilit.batches.operations import Operation, OperationResult, OperationUnavailable
from kilit.lock.audit import current_context, for_reason
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from orchestrator import sentences
from orchestrator.errors import NOT_RETRIED, PERMANENT_CODES, Code, JobError
from orchestrator.figures.job_figures import figures_json
from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.models.job import retry_blocker
from orchestrator.orders.enqueue import enqueue, ring
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules, valid_rules
from orchestrator.planning.rules_history import jobs_to_release
from orchestrator.saw.saw_handover import is_cut_in_part, mark_open_taken, taken_earlier
from orchestrator.schemas.rules import Rules
from orchestrator.states import CANCELLABLE, JOBS, JobState

IN_PROGRESS = gettext_noop("being processed")
WITH_THE_SAW = gettext_noop("partly sent to the saw")
HANDOVER_KNOWN = gettext_noop("the saw's answer is known")


def find(pk: UUID) -> Job:
    job = Job.objects.filter(pk=pk).first()
    if job is None:
        raise ApiError(404, Code.JOB_NOT_FOUND, f"There is no job {pk}.")
    return job


def require_rules() -> Rules:
    try:
        return current_rules()
    except JobError as error:
        raise ApiError(503, error.code, error.message, retry_after=60) from None


def refusal(job: Job, code: str, message: str, *, retry_after: int | None = None) -> ApiError:
    return ApiError(409, code, message, retry_after=retry_after, id=str(job.pk), state=job.status)


@contextmanager
def deciding(default_reason: str) -> Iterator[None]:
    """Decide in a transaction, with the operator's reason, and wake the workers."""
    with transaction.atomic(), for_reason(current_context().reason or default_reason):
        yield
        ring()


def retry(pk: UUID) -> Job:
    rules = require_rules()
    reason = current_context().reason
    with deciding(sentences.RETRIED):
        if not Job.objects.filter(pk=pk).retry(most=rules.retry_count_max, backoff=rules.retry_backoff):
            raise why_not_retried(find(pk), rules)
        job = find(pk)
        due = {"retry_count": job.retry_count, "next_run_at": job.next_run_at.isoformat()}
        message = sentences.RETRY % {"number": job.retry_count, "most": rules.retry_count_max}
        Event.objects.record(job, "JOB_RETRY_SCHEDULED", message=reason or message, details=due)
    return job


def why_not_retried(job: Job, rules: Rules) -> Exception:
    if job.status != JobState.FAILED:
        return MoveRefused(job, "retry", job.status)
    blocker = Job.objects.values_list(retry_blocker(most=rules.retry_count_max), flat=True).get(pk=job.pk)
    if blocker == Code.HANDOVER_UNKNOWN:
        message = f"{job} cannot be retried: the saw may have cut it. Ask there, then confirm-cut or hand-over."
    elif blocker in PERMANENT_CODES:
        message = f"{job} cannot be retried: {Code(blocker).label.lower()}. Send the order as a new revision."
    else:
        message = f"{job} has been retried {job.retry_count} times; the limit is {rules.retry_count_max}."
    return refusal(job, blocker or Code.RETRY_LIMIT_REACHED, message)


def approve(pk: UUID) -> Job:
    with deciding(sentences.APPROVED):
        was = find(pk).error_code  # for the event only
        is_approved = Job.objects.filter(pk=pk).approve()
        job = find(pk)
        if not is_approved:
            raise refusal(job, Code.JOB_NOT_IN_HOLD, f"{job} cannot be approved: it is {job.status}.")
        Event.objects.record(job, "HOLD_APPROVED", message=current_context().reason, details={"was": was})
    return job


def confirm_cut(pk: UUID) -> Job:
    """End a job as DONE: an operator found out at the saw that it was cut. Files that were not are delivered."""
    with deciding(sentences.WAS_CUT):
        undecided = Job.objects.of_unknown_handover().filter(pk=pk).select_for_update(of=("self",)).first()
        if undecided is None:
            raise why_not_decided(find(pk), "confirm_cut")
        mark_open_taken(undecided)
        rows = Job.objects.filter(pk=pk)
        rows.confirm_cut(figures=figures_json(undecided)) or rows.hand_over()
        return find(pk)


def hand_over(pk: UUID) -> Job:
    with deciding(sentences.WAS_NOT_CUT):
        if not Job.objects.filter(pk=pk).hand_over():
            raise why_not_decided(find(pk), "hand_over")
        return find(pk)


def why_not_decided(job: Job, verb: str) -> Exception:
    if job.status != JobState.FAILED:
        return MoveRefused(job, verb, job.status)
    return refusal(job, "HANDOVER_KNOWN", f"{job} needs no such decision: it is known what the saw did with its files.")


def send_again(pk: UUID) -> Job:
    """Store the order of a job that cannot be retried as the next revision, and return its job."""
    job = find(pk)
    if not can_be_sent_again(job, require_rules()):
        message = f"{job} cannot be sent again: it may be retried, is not FAILED, or is partly cut."
        raise refusal(job, "MOVE_REFUSED", message)
    order = {**job.payload, "revision": job.revision + 1, "priority": Priority(job.priority).api_name}
    order["due_on"] = job.due_on
    if job.saw_is_chosen:
        order["saw"] = job.saw
    return enqueue(order_from(order))[0]


def can_be_sent_again(job: Job, rules: Rules) -> bool:
    is_final = job.error_code in PERMANENT_CODES or job.retry_count >= rules.retry_count_max
    is_open = job.status != JobState.FAILED or job.error_code == Code.HANDOVER_UNKNOWN
    return is_final and not is_open and not is_cut_in_part(job)


def is_retried_out(job: Job) -> bool:
    """Return whether a failed job could be retried if it had not been retried too often."""
    if job.status != JobState.FAILED or job.error_code in NOT_RETRIED:
        return False
    rules = valid_rules()
    return rules is not None and job.retry_count >= rules.retry_count_max


def is_cut_by_hand() -> bool:
    """Return whether the rules say that people cut all jobs, or those of one of the saws."""
    rules = valid_rules()
    return rules is not None and rules.has_cutting_by_hand


def cancel(pk: UUID) -> Job:
    waiting = Job.objects.filter(pk=pk, status__in=CANCELLABLE).exclude(delivery_names=[]).first()
    # These files are of earlier attempts: a cancellable job has delivered nothing in this one.
    taken = taken_earlier(waiting, Folders.at(waiting.saw)) if waiting else []
    reason = current_context().reason or sentences.CANCELLED
    is_cancelled = not taken and Job.objects.filter(pk=pk).cancel(message=reason)
    job = find(pk)
    if is_cancelled:
        return job
    if taken or (job.status in CANCELLABLE and is_cut_in_part(job)):
        values = {"job": job, "names": ", ".join(taken) or gettext("a part of it")}
        message = gettext("%(job)s cannot be cancelled: the saw has taken %(names)s.") % values
        raise refusal(job, "MOVE_REFUSED", message)
    if job.status in CANCELLABLE:
        raise refusal(
            job,
            "JOB_IS_BUSY",
            gettext("A runner is working on %(job)s; try again in a minute.") % {"job": job},
            retry_after=60,
        )
    raise MoveRefused(job, "cancel", job.status)


@dataclass(frozen=True, kw_only=True)
class JobOperation(Operation):
    """A decision in bulk or one by one; each job is decided separately."""

    table = JOBS
    model = Job

    decide: Callable[..., Job]
    batch: int = 20  # a decision may look into folders, and a batch holds its jobs for that long

    def apply(self, user: User | AnonymousUser, ids: Sequence[UUID], options: Mapping[str, object]) -> OperationResult:
        moved, messages = set(), {}
        for pk in sorted(ids):
            try:
                self.decide(pk, **options)
                moved.add(pk)
            except (ApiError, MoveRefused) as refusal:
                messages[pk] = str(refusal)
        return OperationResult(moved, self.skips(Job.objects.filter(pk__in=messages)), messages)


class RetryJobs(JobOperation):
    def skipped(self) -> list[When]:
        try:
            most = require_rules().retry_count_max
        except ApiError as refusal:  # there are no rules to judge by
            raise OperationUnavailable(str(refusal.detail)) from None
        return [When(status=JobState.FAILED, then=retry_blocker(most=most))]


class DecideHandover(JobOperation):
    def helps(self, code: str) -> bool:
        return code == Code.HANDOVER_UNKNOWN

    def skipped(self) -> list[When]:
        is_known = Q(status=JobState.FAILED) & ~Q(error_code=Code.HANDOVER_UNKNOWN)
        return [When(is_known, then=Value(HANDOVER_KNOWN))]


class CancelJobs(JobOperation):
    @property
    def sources(self) -> tuple[str, ...]:
        """Where people cut, also before the first board is cut; elsewhere the saw may have the job by then."""
        uncut = JOBS.moves["cancel_uncut"].sources if is_cut_by_hand() else ()
        return (*super().sources, *uncut)

    def skipped(self) -> list[When]:
        may_end = Q(status__in=CANCELLABLE)
        return [
            When(may_end & Q(Job.objects.with_the_saw()), then=Value(WITH_THE_SAW)),
            When(may_end & ~Job.objects.free_to_cancel(), then=Value(IN_PROGRESS)),
            When(Q(status=JobState.XML_READY, by_hand=False), then=Value(WITH_THE_SAW)),
        ]


APPROVE = JobOperation("approve", "approve", decide=approve)
RETRY = RetryJobs("retry", "retry", decide=retry)
CANCEL = CancelJobs("cancel", "cancel", decide=cancel)
CONFIRM_CUT = DecideHandover("confirm_cut", "confirm_cut", decide=confirm_cut)
HAND_OVER = DecideHandover("hand_over", "hand_over", decide=hand_over)


def release_jobs(user: User | AnonymousUser) -> list[Job]:
    """Let the jobs continue that waited for the rules that were saved; return them."""
    jobs = jobs_to_release(current_rules()) if user.has_perm("orchestrator.operate_job") else []
    with for_reason(sentences.RULES_CHANGED):
        for operation, state in ((APPROVE, JobState.HOLD), (RETRY, JobState.FAILED)):
            operation.apply(user, [job.pk for job in jobs if job.status == state], {})
    return jobs
