"""What operators do with cutting jobs, in bulk and one by one: each job is decided separately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Case, CharField, Q, Value, When
from django.utils.translation import gettext_noop

from kilit.api.errors import ApiError
from kilit.batches.operations import Operation, OperationResult, OperationUnavailable
from kilit.lock.guard import MoveRefused
from orchestrator.errors import NOT_RETRIED, Code
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet, retry_blocker
from orchestrator.states import CANCELLABLE, JOBS, JobState
from orchestrator.workflow import decisions

IN_PROGRESS = gettext_noop("being processed")
WITH_THE_SAW = gettext_noop("partly sent to the saw")
HANDOVER_KNOWN = gettext_noop("the saw's answer is known")


@dataclass(frozen=True, kw_only=True)
class JobOperation(Operation):
    table = JOBS
    model = Job

    decide: Callable[[UUID], Job]
    batch: int = 20  # a decision may look into folders, and a batch holds its jobs for that long

    def apply(self, user: User | AnonymousUser, ids: Sequence[UUID], options: Mapping[str, object]) -> OperationResult:
        moved, messages = set(), {}
        for pk in sorted(ids):
            try:
                self.decide(pk)
                moved.add(pk)
            except (ApiError, MoveRefused) as refusal:
                messages[pk] = str(refusal)
        return OperationResult(moved, self.skips(Job.objects.filter(pk__in=messages)), messages)


class RetryJobs(JobOperation):
    def helps(self, code: str) -> bool:
        return code not in NOT_RETRIED

    def with_skip_reason(self, rows: JobQuerySet) -> JobQuerySet:
        try:
            most = decisions.require_rules().retry_count_max
        except ApiError as refusal:  # there are no rules to judge by
            raise OperationUnavailable(str(refusal.detail)) from None
        failed = When(status=JobState.FAILED, then=retry_blocker(most=most))
        return rows.annotate(skip_reason=Case(failed, default=Value(""), output_field=CharField()))


class DecideHandover(JobOperation):
    def helps(self, code: str) -> bool:
        return code == Code.HANDOVER_UNKNOWN

    def with_skip_reason(self, rows: JobQuerySet) -> JobQuerySet:
        answered = When(Q(status=JobState.FAILED) & ~Q(error_code=Code.HANDOVER_UNKNOWN), then=Value(HANDOVER_KNOWN))
        return rows.annotate(skip_reason=Case(answered, default=Value(""), output_field=CharField()))


class CancelJobs(JobOperation):
    def with_skip_reason(self, rows: JobQuerySet) -> JobQuerySet:
        may_end = Q(status__in=CANCELLABLE)
        cut = When(may_end & Q(Job.objects.with_the_saw()), then=Value(WITH_THE_SAW))
        busy = When(may_end & ~Job.objects.free_to_cancel(), then=Value(IN_PROGRESS))
        return rows.annotate(skip_reason=Case(cut, busy, default=Value(""), output_field=CharField()))


APPROVE = JobOperation("approve", "approve", decide=decisions.approve)
RETRY = RetryJobs("retry", "retry", decide=decisions.retry)
CANCEL = CancelJobs("cancel", "cancel", decide=decisions.cancel)
CONFIRM_CUT = DecideHandover("confirm_cut", "confirm_cut", decide=decisions.confirm_cut)
HAND_OVER = DecideHandover("hand_over", "hand_over", decide=decisions.hand_over)
