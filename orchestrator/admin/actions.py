"""Approve, retry and cancel in the console: each says what it will do, asks why, and reports what it did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Case, CharField, F, Q, Value, When
from django.db.models.functions import Concat
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.api.errors import ApiError
from kilit.bulk.queues import NotNow, Outcome
from kilit.console.actions import Action
from kilit.lock.guard import MoveRefused
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet, retry_blocker
from orchestrator.states import CANCELLABLE, JOBS, JobState
from orchestrator.workflow import decisions

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


WORKED_ON = gettext_noop("and being worked on")
WITH_THE_SAW = gettext_noop("and in part with the saw")


@dataclass(frozen=True, kw_only=True)
class JobAction(Action):
    """A decision, taken job by job."""

    table = JOBS
    model = Job

    decide: Callable[[UUID], Job]
    batch: int = 20  # a decision may look into folders, and a batch holds its jobs for so long

    def apply(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: Mapping[str, Any]) -> Outcome:
        """Decide on each job by itself, in one order; no job waits for another's folders."""
        moved, sentences = set(), {}
        for pk in sorted(ids):
            try:
                self.decide(pk)
                moved.add(pk)
            except ApiError as refusal:
                sentences[pk] = str(refusal.detail)
            except MoveRefused as refusal:
                sentences[pk] = str(refusal)
        left = self.judged(Job.objects.filter(pk__in=sentences)).values_list("pk", "verdict")
        return Outcome(moved, dict(left), sentences)


class Retry(JobAction):
    """Brings failed jobs back while that may help."""

    def judged(self, rows: JobQuerySet) -> JobQuerySet:
        """Tell errors that would only happen again, and jobs that were retried often enough."""
        try:
            most = decisions.require_rules().retry_count_max
        except ApiError as refusal:  # there are no rules to judge by
            raise NotNow(str(refusal.detail)) from None
        blocked = Q(status=JobState.FAILED) & ~Q(blocker="")
        verdict = When(blocked, then=Concat("status", Value(" ("), "blocker", Value(")")))
        judged = rows.annotate(blocker=retry_blocker(most=most))
        return judged.annotate(verdict=Case(verdict, default=F("status"), output_field=CharField()))


class Cancel(JobAction):
    """Ends jobs that the saw has not got."""

    def judged(self, rows: JobQuerySet) -> JobQuerySet:
        """Tell jobs that a runner is at work on, and jobs that are cut in part."""
        may_end = Q(status__in=CANCELLABLE)
        busy = When(may_end & ~Job.objects.free_to_cancel(), then=Concat("status", Value(f" {WORKED_ON}")))
        cut = When(may_end & Q(Job.objects.with_the_saw()), then=Concat("status", Value(f" {WITH_THE_SAW}")))
        return rows.annotate(verdict=Case(cut, busy, default=F("status"), output_field=CharField()))


APPROVE = JobAction(
    "approve",
    "approve",
    title=_("Approve"),
    done=_("Approved"),
    effect=_("They go back to NEW and are checked again; what is still wrong holds them again."),
    icon="check",
    decide=decisions.approve,
)
RETRY = Retry(
    "retry",
    "retry",
    title=_("Retry"),
    done=_("Scheduled a retry of"),
    effect=_("They go back to NEW after a while, longer each time. Permanent errors are not retried."),
    icon="replay",
    decide=decisions.retry,
)
CANCEL = Cancel(
    "cancel",
    "cancel",
    title=_("Cancel"),
    done=_("Cancelled"),
    effect=_("They end as FAILED with E_CANCELLED. Sheets in the import folder stay there."),
    icon="block",
    decide=decisions.cancel,
    is_dangerous=True,
)
