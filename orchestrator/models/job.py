"""The cutting job: its row, queries and verbs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import for_reason
from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.leases import MOST_LAPSES, no_lease
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.prefixes import prefix_index
from kilit.lock.priorities import Priority, TurnTime, priority_field
from kilit.lock.text import storable
from kilit.lock.triggers import lifecycle_triggers
from orchestrator import sentences
from orchestrator.errors import HOLD_CODES, NOT_RETRIED, Code, JobError, WarningCode
from orchestrator.models.by_hand import (
    BY_PEOPLE,
    NOT_WITH_PEOPLE,
    CutByHandModel,
    CutByHandQuerySet,
    by_hand_guard,
    cutting_checks,
)
from orchestrator.models.customer import Customer
from orchestrator.models.handover_guard import handover_guard
from orchestrator.models.linked import LinkedJobModel
from orchestrator.models.long_steps import takes_long, to_plan
from orchestrator.models.stock import stock_follows
from orchestrator.states import AT_REST, CANCELLABLE, FAILING, JOBS, OPEN, STARTED, WORKING, JobState, Mode

# Longer than any step except OptiPlanning, which renews the lease. A dead runner's job waits this long.
LEASE = timedelta(seconds=60)
ORDER = ("next_run_at", "created_at")
# Runners claim in this order, by due time and priority; the index job_turn serves it.
CLAIM_ORDER = (TurnTime("next_run_at", "priority"), "created_at")
# Jobs get OptiPlanning in this order.
SLOT_TURN = TurnTime("imported_at", "priority")
# What a runner may claim once it is due; the index job_due covers it.
CLAIMABLE = Q(status__in=WORKING, claim_token=None)
IS_DUE = Q(status__in=OPEN, due_on__isnull=False)
NO_ERROR = {"error_code": "", "error_message": ""}
# What OptiPlanning has to do again, and in mode C its operator.
UNSOLVED: dict[str, object] = {"manual_trigger_approved": False, "attempt_started_at": None, "xml_sha256": ""}

LOST_TOO_MANY_RUNNERS = JobError(Code.UNKNOWN, sentences.RUNNERS_LOST % {"number": MOST_LAPSES})
SOLVED = (JobState.OPTI_DONE, JobState.XML_READY, JobState.DELIVERED, JobState.DONE)
FAILURES = Failures(JOBS, states=FAILING)


def failure(error: JobError) -> dict[str, Any]:
    return {"error_code": error.code, "error_message": storable(error.message, 1000)}


def retry_blocker(*, most: int) -> Case:
    return Case(
        When(error_code__in=NOT_RETRIED, then=F("error_code")),
        When(retry_count__gte=most, then=Value(Code.RETRY_LIMIT_REACHED)),
        default=Value(""),
    )


class JobQuerySet(CutByHandQuerySet["Job"]):
    def due(self) -> Self:
        return self.filter(CLAIMABLE, NOT_WITH_PEOPLE, next_run_at__lte=Now())

    def due_within(self, span: timedelta) -> Self:
        return self.filter(CLAIMABLE, NOT_WITH_PEOPLE, next_run_at__gt=Now(), next_run_at__lte=Now() + span)

    def claimable(self) -> Self:
        """Return what a runner may claim now.

        While the queue is paused no job is started. Those that OptiPlanning or the saw already has go on: their
        results would be lost to time limits that run out during the pause.
        """
        return self.due().filter(Q(status__in=STARTED) | is_not_paused(JOBS))

    def quick(self) -> Self:
        return self.exclude(takes_long())

    def finished_between(self, start: datetime, end: datetime) -> Self:
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
        return Exists(self._solution_files().exclude(acknowledged_as=""))

    def lacks_files(self) -> Exists:
        return Exists(self._solution_files().filter(acknowledged_as=""))

    def with_unknown_customer(self) -> Self:
        return self.filter(status=JobState.HOLD, error_code=Code.CRM_NO_MATCH)

    def of_unknown_handover(self) -> Self:
        """Keep the jobs that the saw may have cut: an operator has to ask there."""
        return self.filter(status=JobState.FAILED, error_code=Code.HANDOVER_UNKNOWN)

    @staticmethod
    def free_to_cancel() -> Q:
        """Match jobs that no runner works on, except to wait for OptiPlanning or the optimiser."""
        return Q(claim_token=None) | Q(status=JobState.OPTI_RUNNING) | to_plan()

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
        fresh = {"retry_count": F("retry_count") + 1, "next_run_at": Now() + delay, "handed_at": None, "by_hand": False}
        return rows.move("retry", **fresh, **again, **no_lease())

    def approve(self) -> int:
        """Move held jobs back to NEW. Only the operator's trigger is recorded, and no other approval clears it."""
        triggered = Case(
            When(error_code=Code.OPERATOR_TRIGGER_REQUIRED, then=Value(value=True)),
            default=F("manual_trigger_approved"),
        )
        return self.move("approve", manual_trigger_approved=triggered, next_run_at=Now(), **NO_ERROR, **no_lease())

    def confirm_cut(self, *, figures: dict[str, object] | None = None) -> int:
        done = {
            "handed_at": Coalesce("handed_at", Now()),
            "finished_at": Now(),
            "open_deliveries": [],
            "figures": figures,
        }
        return self.of_unknown_handover().exclude(self.lacks_files()).move("confirm_cut", **done, **NO_ERROR)

    def hand_over(self) -> int:
        """Deliver the stored solution again, under a new name; it counts as no retry."""
        again: dict[str, object] = {"handover_count": F("handover_count") + 1, "handed_at": None, "open_deliveries": []}
        return self.of_unknown_handover().move("hand_over", **again, next_run_at=Now(), **NO_ERROR)

    def cancel(self, *, message: str) -> int:
        """End jobs that neither the saw nor a runner has; a runner that only waits for OptiPlanning does not count.

        Such a runner notices when it renews the lease, and stops the program.
        """
        changes = {**failure(JobError(Code.CANCELLED, message)), **no_lease()}
        rows = self.filter(self.free_to_cancel(), ~self.with_the_saw())
        return rows.move("cancel", **changes) or rows.cancel_uncut(**changes)


class Job(LinkedJobModel, CutByHandModel):
    """One order on its way to the saw. The order was validated before the row was inserted."""

    lifecycle = JOBS
    lease_length = LEASE

    status = models.CharField(_("state"), max_length=13, choices=JobState, default=JobState.NEW, editable=False)
    order_id = models.CharField(_("order id"), max_length=200)
    customer_phone = models.CharField(max_length=16)
    customer_snapshot_name = models.CharField(max_length=200, blank=True)
    customer = models.ForeignKey(Customer, null=True, on_delete=models.PROTECT, related_name="jobs")
    opti_mode = models.CharField(_("mode"), max_length=1, choices=Mode)
    revision = models.PositiveIntegerField(default=0)
    payload = models.JSONField(help_text="The validated order, with defaults filled in.")
    payload_hash = models.CharField(max_length=64)
    parts_digest = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Of the parts alone."
    )
    part_count = models.PositiveIntegerField()
    manual_trigger_approved = models.BooleanField(default=False)
    retry_count = models.PositiveSmallIntegerField(_("retries"), default=0)
    priority = priority_field()
    due_on = models.DateField(_("due"), null=True)
    next_run_at = models.DateTimeField(_("next run"), db_default=Now())
    error_code = models.CharField(max_length=32, choices=Code, blank=True)
    error_message = models.CharField(max_length=1000, blank=True)
    error_group = error_group_field()
    warning_code = models.CharField(max_length=32, choices=WarningCode, blank=True, default="", db_default="")
    warning_details = models.JSONField(null=True, help_text="The plate, and the ids of the parts that do not fit.")
    plate_size = models.JSONField(null=True)
    batch_count = models.PositiveIntegerField(null=True)
    backing_edge_reset_count = models.PositiveIntegerField(_("backing parts with edges removed"), null=True)
    files = models.JSONField(default=list, help_text="Sheets in the import folder: name and sha256.")
    planning = models.JSONField(null=True, help_text="What the built-in optimiser plans, since when, and how far.")
    solution = models.JSONField(null=True, help_text="Figures of the best solution.")
    figures = models.JSONField(null=True, help_text="Areas, edges and amounts, fixed when the job was finished.")
    xml_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the solution that belongs to the files.")
    delivery_names = models.JSONField(default=list, help_text="Every name under which the saw may have received it.")
    # Written before the saw can see a file, and removed once its answer is known or we have it back.
    open_deliveries = models.JSONField(
        default=list, db_default=Value([], output_field=models.JSONField()), help_text="Files that the saw may have."
    )
    handover_count = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="How often an operator had it handed over again."
    )
    # Times of the current attempt. The first is read from the clock that stamps files in the export folder, because it
    # is compared with them; the others are the database's.
    attempt_started_at = models.DateTimeField(null=True, help_text="Older solutions belong to an earlier attempt.")
    imported_at = models.DateTimeField(_("sheets imported at"), null=True)
    opti_started_at = models.DateTimeField(_("OptiPlanning started at"), null=True)
    opti_ended_at = models.DateTimeField(null=True, help_text="OptiPlanning has ended; only its file is missing.")
    xml_ready_at = models.DateTimeField(null=True, help_text="When it started to wait for delivery.")
    handed_at = models.DateTimeField(_("handed to the saw at"), null=True)
    finished_at = models.DateTimeField(_("finished at"), null=True)

    objects = JobQuerySet.as_manager()

    # The rules and the plan made with them, kept on this instance between a runner's steps.
    planned: Any = None

    class Meta(CutByHandModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("job"), _("jobs")
        triggers = [
            *lifecycle_triggers(
                JOBS,
                facts=["retry_count", "error_code", "error_message", "batch_count", "backing_edge_reset_count"],
                # The hash stands for the order, which is too large to compare on each update.
                fixed=["order_id", "revision", "opti_mode", "payload_hash"],
                counters=Counters(changed_by={"retry_count": ["retry", "undo_retry"]}),
                # Decided by people, also through a program.
                machine_verbs=["confirm_cut", "hand_over", *BY_PEOPLE],
            ),
            *FAILURES.triggers(),
            handover_guard(),
            by_hand_guard(),
            stock_follows(),
        ]
        constraints = [
            # The same order sent twice is one job.
            models.UniqueConstraint(fields=["payload_hash"], name="one_job_per_payload"),
            # OptiPlanning runs one job at a time: of two runners that start one, this index stops the second.
            models.UniqueConstraint(
                fields=["status"], condition=Q(status=JobState.OPTI_RUNNING), name="one_opti_running"
            ),
            *cutting_checks(),
            *checks(
                job_claim_has_a_lease=Q(claim_token=None, lease_until=None)
                | Q(claim_token__isnull=False, lease_until__isnull=False),
                job_at_rest_is_held_by_nobody=~Q(status__in=AT_REST) | Q(claim_token=None),
                job_priority_is_known=Q(priority__in=Priority.values),
                job_error_code_is_known=Q(error_code__in=["", *Code.values]),
                hold_has_something_to_fix=~Q(status=JobState.HOLD) | Q(error_code__in=sorted(HOLD_CODES)),
                failed_job_has_error_code=~Q(status=JobState.FAILED) | ~Q(error_code=""),
                running_job_has_started=~Q(status=JobState.OPTI_RUNNING)
                | Q(opti_started_at__isnull=False, attempt_started_at__isnull=False),
                solved_job_has_xml=~Q(status__in=SOLVED) | ~Q(xml_sha256=""),
                unknown_handover_has_its_code=~Q(status=JobState.FAILED)
                | Q(open_deliveries=[]) & ~Q(error_code=Code.HANDOVER_UNKNOWN)
                | ~Q(open_deliveries=[]) & Q(error_code=Code.HANDOVER_UNKNOWN),
                only_done_job_is_finished=Q(status=JobState.DONE, finished_at__isnull=False)
                | ~Q(status=JobState.DONE) & Q(finished_at=None),
            ),
        ]
        indexes = [
            # Whether a job is due, and which has been for longest; finished jobs are not in this index.
            models.Index(fields=ORDER, condition=CLAIMABLE, name="job_due"),
            # Claims look for the job whose turn it is.
            models.Index(*CLAIM_ORDER, condition=CLAIMABLE, name="job_turn"),
            # The sweep looks for lapsed claims.
            models.Index(fields=["lease_until"], condition=Q(lease_until__isnull=False), name="job_claimed"),
            # Taking the slot checks which job has waited longest.
            models.Index(fields=["imported_at"], condition=Q(status=JobState.OPTI_IMPORTED), name="job_waits_for_slot"),
            # Integrators ask for an order, operators for a state; lists page by id.
            models.Index(fields=["order_id", "id"], name="job_of_order"),
            models.Index(fields=["status", "id"], name="job_in_state"),
            models.Index(fields=["customer_phone", "id"], name="job_of_phone"),
            models.Index(fields=["opti_mode", "id"], name="job_of_mode"),
            models.Index(fields=["saw", "id"], condition=~Q(saw=""), name="job_of_saw"),
            # The bookkeeper's file has the jobs of a time span.
            models.Index(fields=["finished_at", "id"], condition=Q(finished_at__isnull=False), name="job_finished"),
            # Operators search by the beginning of an order id, a phone or a name.
            prefix_index("job_order_id_prefix", "order_id"),
            prefix_index("job_phone_prefix", "customer_phone"),
            prefix_index("job_snapshot_prefix", "customer_snapshot_name"),
            # The day's list, and what is late.
            models.Index(fields=["due_on", "id"], condition=IS_DUE, name="job_due_on"),
            # A new order looks for others with the same parts.
            models.Index(fields=["parts_digest", "id"], name="job_of_parts"),
            # Lists of one error: a group, or a code.
            FAILURES.index("job_of_error_group"),
            models.Index(fields=["error_code", "id"], condition=~Q(error_code=""), name="job_of_code"),
            # The dashboard and the list ask for warnings while something can be done about them.
            models.Index(
                fields=["warning_code", "id"],
                condition=~Q(warning_code="") & Q(status__in=CANCELLABLE),
                name="job_of_warning",
            ),
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"

    @property
    def customer_name(self) -> str:
        return self.customer.name if self.customer else self.customer_snapshot_name

    def refresh_from_db(self, using: str | None = None, fields: Any = None, from_queryset: Any = None) -> None:
        """Read the row again without its order, which never changes and may be far larger than the rest."""
        names = fields or [field.name for field in self._meta.concrete_fields if field.name != "payload"]
        super().refresh_from_db(using, names, from_queryset)

    @property
    def attempt(self) -> int:
        """The number of this delivery: names in the saw's folders are never used twice."""
        return self.retry_count + self.handover_count + 1

    def takes_long(self) -> bool:
        return type(self).objects.filter(takes_long(), pk=self.pk).exists()

    # Verbs of the runner. Each proves its claim; each one that does not end the job also extends the lease.

    def advance(self, verb: str, message: str, **changes: object) -> Self:
        """Move with a message for the timeline; MoveRefused if another runner holds the job by now."""
        with for_reason(message):
            return self.move_held(verb, lease_until=Now() + LEASE, lapse_count=0, **changes)

    def note(self, **changes: Any) -> Self:
        """Record what a step did, under the claim; ClaimLost if another runner holds the job by now."""
        self.renew(**changes)
        self.refresh_from_db()
        return self

    def finish(self, *, figures: dict[str, object] | None = None) -> Self:
        with for_reason(sentences.FINISHED):
            return self.move_held("finish", finished_at=Now(), figures=figures, **no_lease())

    def hold(self, error: JobError) -> Self:
        return self.move_held("hold", **failure(error), **no_lease())

    def fail(self, error: JobError, *, open_deliveries: Sequence[str] = ()) -> Self:
        """End with an error; `open_deliveries` are the files that the saw may have."""
        left = {"open_deliveries": list(open_deliveries), "lapse_count": 0}
        return self.move_held("fail", **failure(error), **left, **no_lease())
