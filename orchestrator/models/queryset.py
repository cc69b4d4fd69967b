"""Queries over cutting jobs, and their bulk verbs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce, Now

from kilit.lock.leases import MOST_LAPSES, LongJobQuerySet, no_lease
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.priorities import TurnTime
from kilit.lock.text import strip_control_chars
from orchestrator.errors import NOT_RETRIED, Code, JobError
from orchestrator.states import JOBS, STARTED, WORKING, JobState, Mode

if TYPE_CHECKING:
    from orchestrator.models.job import Job

# Longer than any step except OptiPlanning, which renews the lease. A dead runner's job waits this long.
LEASE = timedelta(seconds=60)
# Writing more sheets than this may outlast a worker's task on a slow share.
MANY_BATCHES = 100
ORDER = ("next_run_at", "created_at")
# Runners claim in this order, by due time and priority; the index job_turn serves it.
CLAIM_ORDER = (TurnTime("next_run_at", "priority"), "created_at")
# Jobs get OptiPlanning in this order.
SLOT_TURN = TurnTime("imported_at", "priority")
# What a runner may claim once it is due; the index job_due covers it.
CLAIMABLE = Q(status__in=WORKING, claim_token=None)
NO_ERROR = {"error_code": "", "error_message": ""}
# What OptiPlanning has to do again, and in mode C its operator.
UNSOLVED: dict[str, object] = {"manual_trigger_approved": False, "attempt_started_at": None, "xml_sha256": ""}

LOST_TOO_MANY_RUNNERS = JobError(
    Code.UNKNOWN, f"{MOST_LAPSES} runners stopped or lost contact while they held this job."
)


def failure(error: JobError) -> dict[str, Any]:
    """Return the error columns, truncated to their length."""
    return {"error_code": error.code, "error_message": strip_control_chars(error.message)[:1000]}


def takes_long() -> Q:
    """Match jobs whose next step may outlast a worker's task: OptiPlanning itself, or writing very many sheets."""
    optimizing = Q(status=JobState.OPTI_IMPORTED, xml_sha256="") | Q(status=JobState.OPTI_RUNNING, opti_ended_at=None)
    writing = Q(status=JobState.PREPARED, batch_count__isnull=False, batch_count__gt=MANY_BATCHES)
    return Q(optimizing, opti_mode__in=[Mode.A, Mode.B]) | writing


def retry_blocker(*, most: int) -> Case:
    """Return the error code that keeps a failed job from being retried, or an empty string."""
    return Case(
        When(error_code__in=NOT_RETRIED, then=F("error_code")),
        When(retry_count__gte=most, then=Value(Code.RETRY_LIMIT_REACHED)),
        default=Value(""),
    )


class JobQuerySet(LongJobQuerySet["Job"]):
    def due(self) -> Self:
        return self.filter(CLAIMABLE, next_run_at__lte=Now())

    def due_within(self, span: timedelta) -> Self:
        """Return what is not due yet, and will be by then."""
        return self.filter(CLAIMABLE, next_run_at__gt=Now(), next_run_at__lte=Now() + span)

    def claimable(self) -> Self:
        """Return what a runner may claim now.

        While the queue is paused no job is started. Those that OptiPlanning or the saw already has go on: their
        results would be lost to time limits that run out during the pause.
        """
        return self.due().filter(Q(status__in=STARTED) | is_not_paused(JOBS))

    def quick(self) -> Self:
        return self.exclude(takes_long())

    def finished_between(self, start: datetime, end: datetime) -> Self:
        """Keep the jobs that were finished from a time on and before another, in that order."""
        return self.filter(finished_at__gte=start, finished_at__lt=end).order_by("finished_at", "id")

    def waiting_for_slot(self) -> Self:
        """Keep the jobs that wait for OptiPlanning and that a runner looks after.

        Jobs with a lapsed claim, or that no runner picks up, do not count: with no patient runner alive, an order of
        mode A must not block those of mode C.
        """
        waiting = self.filter(status=JobState.OPTI_IMPORTED, xml_sha256="")
        waiting = waiting.exclude(opti_mode=Mode.C, manual_trigger_approved=False)
        return waiting.filter(Q(lease_until__gt=Now()) | Q(claim_token=None, next_run_at__gt=Now() - LEASE))

    def next_for_slot(self) -> Self:
        """Keep the job whose turn with OptiPlanning it is, if it still sleeps and could have the slot now."""
        running = self.model.objects.filter(status=JobState.OPTI_RUNNING)
        first = self.model.objects.waiting_for_slot().order_by(SLOT_TURN).values("pk")[:1]
        asleep = self.filter(pk__in=first, status=JobState.OPTI_IMPORTED, claim_token=None, next_run_at__gt=Now())
        return asleep.filter(~Exists(running), is_not_paused(JOBS))

    def with_the_saw(self) -> Exists:
        """Match jobs of which the saw has taken at least one file."""
        return Exists(self._solution_files().exclude(acknowledged_as=""))

    def lacks_files(self) -> Exists:
        """Match jobs of which the saw has not taken every file."""
        return Exists(self._solution_files().filter(acknowledged_as=""))

    def of_unknown_handover(self) -> Self:
        """Keep the jobs of which the saw may have cut a file: an operator has to ask there."""
        return self.filter(status=JobState.FAILED, error_code=Code.HANDOVER_UNKNOWN)

    @staticmethod
    def free_to_cancel() -> Q:
        """Match jobs that no runner works on, except to wait for OptiPlanning."""
        return Q(claim_token=None) | Q(status=JobState.OPTI_RUNNING)

    def _solution_files(self) -> Any:
        return self.model.solution_files.rel.related_model.objects.filter(job=OuterRef("pk"))  # type: ignore[attr-defined]

    # Verbs of the runner

    def claim(self) -> "Job | None":
        return self.claimable().lease_next(order=CLAIM_ORDER)

    def take_slot(self, job: "Job") -> bool:
        """Give OptiPlanning to a held job, unless it is busy or it is the turn of another.

        Two runners may both find the slot free; the unique index lets one in and the other gets False. So no program
        is started twice, and no job fails because it waits.
        """
        my_turn = TurnTime(OuterRef("imported_at"), OuterRef("priority"))
        earlier = self.model.objects.waiting_for_slot().alias(turn=SLOT_TURN).filter(turn__lt=my_turn)
        running = self.model.objects.filter(status=JobState.OPTI_RUNNING)
        mine = self.held_by(job).filter(~Exists(earlier), ~Exists(running))
        started = {"opti_started_at": Now(), "opti_ended_at": None, "lease_until": Now() + LEASE, "lapse_count": 0}
        try:
            with transaction.atomic():
                return bool(mine.move("start", **started))
        except IntegrityError as error:
            if getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") != "one_opti_running":
                raise
            return False

    def wake_next(self) -> int:
        """Make the job whose turn with OptiPlanning it is due when the slot is free; the others sleep on."""
        return self.next_for_slot().update(next_run_at=Now())

    def fail_spent(self) -> set[UUID]:
        """Fail the jobs that have lost too many runners; return their ids."""
        return self.lapsed_too_often().move_each("fail", **failure(LOST_TOO_MANY_RUNNERS), **no_lease(), lapse_count=0)

    def release_lapsed(self, **changes: object) -> int:
        """Release the claims of dead runners; the jobs continue from their current state, at once."""
        return super().release_lapsed(next_run_at=Now(), **changes)

    # Verbs of an operator

    def retry(self, *, most: int, backoff: Sequence[timedelta]) -> int:
        """Move failed jobs back to NEW, with a delay that grows each time; a second click finds nothing to retry."""
        delays = [When(retry_count=number, then=Value(span)) for number, span in enumerate(backoff)]
        delay = Case(*delays, default=Value(backoff[-1]))
        # A collected solution may already be with the saw, whatever the error code: it is delivered again, never
        # computed again.
        again = {
            name: Case(When(~Q(xml_sha256=""), then=F(name)), default=Value(value)) for name, value in UNSOLVED.items()
        }
        rows = self.alias(blocker=retry_blocker(most=most)).filter(blocker="")
        fresh = {"retry_count": F("retry_count") + 1, "next_run_at": Now() + delay, "handed_at": None}
        return rows.move("retry", **fresh, **again, **no_lease())

    def approve(self) -> int:
        """Move held jobs back to NEW. Only the operator's trigger is recorded, and no other approval clears it."""
        triggered = Case(
            When(error_code=Code.OPERATOR_TRIGGER_REQUIRED, then=Value(value=True)),
            default=F("manual_trigger_approved"),
        )
        return self.move("approve", manual_trigger_approved=triggered, next_run_at=Now(), **NO_ERROR, **no_lease())

    def confirm_cut(self, *, figures: dict[str, object] | None = None) -> int:
        """End jobs that the saw has cut without an answer, and of which it has every file."""
        done = {
            "handed_at": Coalesce("handed_at", Now()),
            "finished_at": Now(),
            "open_deliveries": [],
            "figures": figures,
        }
        return self.of_unknown_handover().exclude(self.lacks_files()).move("confirm_cut", **done, **NO_ERROR)

    def hand_over(self) -> int:
        """Deliver the stored solution again, under a new name; it counts as no retry."""
        again: dict[str, Any] = {"handover_count": F("handover_count") + 1, "handed_at": None, "open_deliveries": []}
        return self.of_unknown_handover().move("hand_over", **again, next_run_at=Now(), **NO_ERROR)

    def cancel(self, *, message: str) -> int:
        """End jobs that neither the saw nor a runner has; a runner that only waits for OptiPlanning does not count.

        Such a runner notices when it renews the lease, and stops the program.
        """
        return self.filter(self.free_to_cancel(), ~self.with_the_saw()).move(
            "cancel", **failure(JobError(Code.CANCELLED, message)), **no_lease()
        )
