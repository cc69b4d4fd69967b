"""The cutting job, and its solution files."""

from collections.abc import Sequence
from typing import Any, Self

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import for_reason
from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.leases import LongJobModel, no_lease
from kilit.lock.prefixes import prefix_index
from kilit.lock.priorities import Priority, priority_field
from kilit.lock.triggers import lifecycle_triggers
from orchestrator.errors import HOLD_CODES, Code, JobError, WarningCode
from orchestrator.models.customer import Customer
from orchestrator.models.handover_guard import handover_guard
from orchestrator.models.queryset import CLAIM_ORDER, CLAIMABLE, LEASE, ORDER, JobQuerySet, failure, takes_long
from orchestrator.states import AT_REST, CANCELLABLE, FAILING, JOBS, MAY_BE_WITH_THE_SAW, JobState, Mode

SOLVED = (JobState.OPTI_DONE, JobState.XML_READY, JobState.DELIVERED, JobState.DONE)
HANDED = (JobState.DELIVERED, JobState.DONE)
FAILURES = Failures(
    JOBS,
    states=FAILING,
    code="error_code",
    message="error_message",
    expected=[(state, JobState.FAILED, Code.CANCELLED) for state in CANCELLABLE],
)


class Job(LongJobModel):
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

    class Meta(LongJobModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("job"), _("jobs")
        triggers = [
            *lifecycle_triggers(
                JOBS,
                facts=["retry_count", "error_code", "error_message", "batch_count", "backing_edge_reset_count"],
                # The hash is that of the order, which is too large to compare on each update.
                fixed=["order_id", "revision", "opti_mode", "payload_hash"],
                counters=Counters(changed_by={"retry_count": ["retry", "undo_retry"]}),
                machine_verbs=["confirm_cut", "hand_over"],  # decided by people, also through a program
            ),
            *FAILURES.triggers(),
            handover_guard(),
        ]
        constraints = [
            # The same order sent twice is one job.
            models.UniqueConstraint(fields=["payload_hash"], name="one_job_per_payload"),
            # OptiPlanning runs one job at a time: of two runners that start one, this index stops the second.
            models.UniqueConstraint(
                fields=["status"], condition=Q(status=JobState.OPTI_RUNNING), name="one_opti_running"
            ),
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
                delivered_job_was_handed_over=~Q(status__in=HANDED) | Q(handed_at__isnull=False),
                open_delivery_may_be_with_the_saw=Q(open_deliveries=[]) | Q(status__in=MAY_BE_WITH_THE_SAW),
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
            # The bookkeeper's file has the jobs of a time span.
            models.Index(fields=["finished_at", "id"], condition=Q(finished_at__isnull=False), name="job_finished"),
            # Operators search by the beginning of an order id, a phone or a name.
            prefix_index("job_order_id_prefix", "order_id"),
            prefix_index("job_phone_prefix", "customer_phone"),
            prefix_index("job_snapshot_prefix", "customer_snapshot_name"),
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
        with for_reason("The saw has everything."):
            return self.move_held("finish", finished_at=Now(), figures=figures, **no_lease())

    def hold(self, error: JobError) -> Self:
        return self.move_held("hold", **failure(error), **no_lease())

    def fail(self, error: JobError, *, open_deliveries: Sequence[str] = ()) -> Self:
        """End with an error; `open_deliveries` are the files that the saw may have."""
        left = {"open_deliveries": list(open_deliveries), "lapse_count": 0}
        return self.move_held("fail", **failure(error), **left, **no_lease())


class SolutionFile(models.Model):
    """One XML file from OptiPlanning, byte for byte: the export folder is emptied and may be on another machine."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="solution_files")
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    # The saw may answer for a job's files one by one; a retry delivers only those it has not taken.
    acknowledged_as = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ()
        # A repeated step stores the same file, not a second one.
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="one_solution_file_per_name")]

    def __str__(self) -> str:
        return self.name
