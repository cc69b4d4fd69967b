"""Questions about jobs, and their verbs in bulk."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Now

from kilit.lock.audit import strip_control_chars
from kilit.lock.leases import LeasedQuerySet, new_lease, no_lease
from orchestrator.errors import PERMANENT_CODES, Code, JobError
from orchestrator.states import WORKING, JobState, Mode

if TYPE_CHECKING:
    from orchestrator.models.job import Job

# Longer than any step but OptiPlanning, which renews it; a dead runner's job rests for as long.
LEASE = timedelta(seconds=60)
# More sheets than a worker writes in its turn, on a slow share too.
MANY_BATCHES = 100
# A job that takes every runner down with it must end too.
MOST_LAPSES = 5
ORDER = ("next_run_at", "created_at")
NO_ERROR = {"error_code": "", "error_message": ""}
# What OptiPlanning has to do again, and in mode C its operator.
UNSOLVED: dict[str, Any] = {
    "manual_trigger_approved": False,
    "attempt_started_at": None,
    "xml_sha256": "",
}


def failure(fault: JobError) -> dict[str, Any]:
    """Return the error columns, cut to what they hold."""
    return {"error_code": fault.code, "error_message": strip_control_chars(fault.message)[:1000]}


class JobQuerySet(LeasedQuerySet["Job"]):
    """Questions about jobs, and their verbs in bulk."""

    def due(self) -> Self:
        """Return what a runner may claim now."""
        return self.filter(status__in=WORKING, claim_token=None, next_run_at__lte=Now())

    def held_by(self, job: "Job") -> Self:
        """Return the job while the claim of this instance is the one in force."""
        return self.filter(pk=job.pk, claim_token=job.claim_token, claim_token__isnull=False)

    def brief(self) -> Self:
        """Return what needs no long step next; starting OptiPlanning is one, and writing very many sheets."""
        starting = Q(status=JobState.OPTI_IMPORTED) | Q(status=JobState.OPTI_RUNNING, opti_ended_at=None)
        many = Q(status=JobState.PREPARED, batch_count__isnull=False, batch_count__gt=MANY_BATCHES)
        return self.exclude(starting, opti_mode__in=[Mode.A, Mode.B]).exclude(many)

    def waited_longer(self) -> Self:
        """Return the jobs that wait for OptiPlanning and are looked after.

        A claim that lapsed is not, nor a job that nobody takes up: with no patient runner alive, an order of mode A
        must not keep those of mode C from their turn.
        """
        waits = self.filter(status=JobState.OPTI_IMPORTED).exclude(opti_mode=Mode.C, manual_trigger_approved=False)
        return waits.filter(Q(lease_until__gt=Now()) | Q(claim_token=None, next_run_at__gt=Now() - LEASE))

    def claim(self) -> "Job | None":
        """Take the job that is due longest: one statement picks it and sets the token."""
        free = self.due().order_by(*ORDER).select_for_update(skip_locked=True, of=("self",)).values("pk")[:1]
        token = new_lease(LEASE)["claim_token"]
        with transaction.atomic(using=self.db):
            pick, pick_params = free.query.get_compiler(using=self.db).as_sql()
            # MATERIALIZED: otherwise the planner may run the LIMIT twice.
            statement = f"""
                WITH picked AS MATERIALIZED ({pick})
                UPDATE {self.model._meta.db_table} SET claim_token = %s, lease_until = statement_timestamp() + %s
                WHERE id IN (SELECT picked.pk FROM picked) AND claim_token IS NULL RETURNING *
            """  # noqa: S608 - made by Django and from our own names
            jobs = list(self.model._base_manager.using(self.db).raw(statement, (*pick_params, token, LEASE)))
        return jobs[0] if jobs else None

    def take_slot(self, job: "Job") -> bool:
        """Give OptiPlanning to a held job, unless it is taken or somebody has waited longer.

        Two runners may both find the slot free; the index lets one in and answers the other. So no program is ever
        started twice, and nobody fails for waiting.
        """
        longer = self.model.objects.waited_longer().filter(imported_at__lt=OuterRef("imported_at"))
        taken = self.model.objects.filter(status=JobState.OPTI_RUNNING)
        mine = self.held_by(job).filter(~Exists(longer), ~Exists(taken))
        started = {"opti_started_at": Now(), "opti_ended_at": None, "lease_until": Now() + LEASE, "lapse_count": 0}
        try:
            with transaction.atomic():
                return bool(mine.move("start", **started))
        except IntegrityError as error:
            if getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") != "one_opti_running":
                raise
            return False

    def release(self, job: "Job", *, after: timedelta) -> bool:
        """Let go of a job that has to wait; it is due again in a moment, and others go on meanwhile."""
        return bool(self.held_by(job).update(next_run_at=Now() + after, **no_lease()))

    def fail_spent(self) -> set[UUID]:
        """End the jobs that have cost too many runners; return which."""
        poison = JobError(Code.UNKNOWN, f"{MOST_LAPSES} runners ended, or lost touch, while they held this job.")
        spent = self.lapsed().filter(lapse_count__gte=MOST_LAPSES - 1)
        return spent.move_each("fail", **failure(poison), **no_lease(), lapse_count=0)

    def release_lapsed(self) -> int:
        """Take claims from runners that are gone; the jobs go on from the state they are in."""
        return self.lapsed().update(lapse_count=F("lapse_count") + 1, next_run_at=Now(), **no_lease())

    def wake_next(self) -> int:
        """Make the job that waits longest for OptiPlanning due when the slot is free; the others may sleep on."""
        taken = self.model.objects.filter(status=JobState.OPTI_RUNNING)
        first = self.waited_longer().order_by("imported_at").values("pk")[:1]
        asleep = self.filter(pk__in=first, status=JobState.OPTI_IMPORTED, claim_token=None, next_run_at__gt=Now())
        return asleep.filter(~Exists(taken)).update(next_run_at=Now())

    def retry(self, *, most: int, backoff: Sequence[timedelta]) -> int:
        """Bring failed jobs back, later each time; a double click finds nothing left to bring back."""
        waits = [When(retry_count=number, then=Value(span)) for number, span in enumerate(backoff)]
        wait = Case(*waits, default=Value(backoff[-1]))
        # A solution that was collected may be with the saw by now, whatever the code: it is delivered again, never made
        # again.
        again = {
            name: Case(When(~Q(xml_sha256=""), then=F(name)), default=Value(value)) for name, value in UNSOLVED.items()
        }
        rows = self.filter(retry_count__lt=most).exclude(error_code__in=PERMANENT_CODES)
        fresh = {"retry_count": F("retry_count") + 1, "next_run_at": Now() + wait, "handed_at": None}
        return rows.move("retry", **fresh, **again, **no_lease())

    def approve(self) -> int:
        """Let held jobs go on; only the operator's trigger is remembered, and no other approval forgets it."""
        triggered = Case(
            When(error_code=Code.OPERATOR_TRIGGER_REQUIRED, then=Value(value=True)),
            default=F("manual_trigger_approved"),
        )
        return self.move("approve", manual_trigger_approved=triggered, next_run_at=Now(), **NO_ERROR, **no_lease())

    @staticmethod
    def is_free_to_cancel() -> Q:
        """Return the question whether nobody works on a job but OptiPlanning."""
        return Q(claim_token=None) | Q(status=JobState.OPTI_RUNNING)

    def is_with_the_saw(self) -> Exists:
        """Return the question whether the saw has taken something of a job."""
        files = self.model.solution_files.rel.related_model.objects.filter(job=OuterRef("pk"))  # type: ignore[attr-defined]
        return Exists(files.exclude(acknowledged_as=""))

    def cancel(self, *, message: str) -> int:
        """End jobs that the saw has not got and nobody holds, or holds only to wait for OptiPlanning.

        Its runner learns so when it renews the lease, and ends the program.
        """
        return self.filter(self.is_free_to_cancel(), ~self.is_with_the_saw()).move(
            "cancel", **failure(JobError(Code.CANCELLED, message)), **no_lease()
        )
