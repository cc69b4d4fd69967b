"""A bulk action: the row is the job, and each row it acts on has a line of its own."""

from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from kilit.bulk.states import BULK_ACTIONS, WORKING, State
from kilit.lock.leases import LongJobModel, LongJobQuerySet, no_lease
from kilit.lock.triggers import lifecycle_triggers

# A dead worker's action rests for as long. A slow batch is safe all the same: its transaction keeps the row locked.
LEASE = timedelta(seconds=30)
MOST_WITHOUT_COUNT = 100
CONFIRM_WITHIN = timedelta(days=1)
KEEP_RESULTS_FOR = timedelta(days=90)


class BulkActionQuerySet(LongJobQuerySet["BulkAction"]):
    """Questions about bulk actions, and their verbs."""

    def due(self) -> Self:
        """Return what a worker may take up: nobody holds it, or somebody who is gone."""
        return self.free().filter(status__in=WORKING)

    def claim(self) -> "BulkAction | None":
        """Claim the action that has waited longest."""
        return self.due().lease_next(order=("updated_at", "id"), updated_at=Now())

    def start(self, *, count: int | None) -> int:
        """Let it run, once the operator has typed how many rows it will move; few need no number."""
        enough = Q(eligible__lte=MOST_WITHOUT_COUNT) | Q(eligible=count)
        return self.filter(enough, eligible__gt=0).move("start", confirmed_count=count, started_at=Now())

    def cancel(self) -> int:
        """Stop before the next batch; what was done stays done."""
        return self.move("cancel", finished_at=Now(), **no_lease())

    def never_confirmed(self) -> Self:
        """Return plans that nobody confirmed in time: what they found is not what there is now."""
        return self.filter(status=State.READY, updated_at__lt=Now() - CONFIRM_WITHIN)


class BulkAction(LongJobModel):
    """One verb over all rows that matched a filter at one moment, in the name of whoever asked."""

    lifecycle = BULK_ACTIONS
    lease_length = LEASE

    status = models.CharField("state", max_length=9, choices=State, default=State.PLANNED, editable=False)
    queue = models.CharField(max_length=32)
    action = models.CharField(max_length=32)
    options = models.JSONField(default=dict)
    reason = models.CharField(max_length=1000)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bulk_actions")
    filters = models.JSONField(help_text="The list's filters, as they were in its address.")
    filters_told = models.CharField(max_length=1000, blank=True, help_text="The filters in the words of the list.")
    zone = models.CharField(max_length=64, default="UTC", help_text="Whose midnights the days of the filters begin at.")
    as_of = models.DateTimeField(db_default=Now(), help_text="Filters by age count from here.")
    scopes = models.JSONField(null=True, help_text="What the rows belong to, as sites; it decides who sees this.")
    dry_run = models.JSONField(default=dict, help_text="Rows found by state, and others that match.")
    total = models.PositiveIntegerField(null=True, help_text="Rows written down.")
    eligible = models.PositiveIntegerField(null=True, help_text="Rows it would have moved when they were written down.")
    confirmed_count = models.PositiveIntegerField(null=True, help_text="What the operator typed.")
    done_count = models.PositiveIntegerField(default=0, help_text="Rows looked at.")
    moved_count = models.PositiveIntegerField(default=0, help_text="Rows moved.")
    left = models.JSONField(default=dict, help_text="Rows left alone, by why.")
    last_object_id = models.UUIDField(null=True, help_text="All up to this id are done.")
    error = models.CharField(max_length=1000, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = BulkActionQuerySet.as_manager()

    class Meta(LongJobModel.Meta):
        abstract = False
        default_permissions = ("view",)  # type: ignore[assignment]
        triggers = lifecycle_triggers(
            BULK_ACTIONS, facts=["action", "total", "eligible", "done_count", "moved_count", "error"]
        )
        constraints = [
            # Nothing runs over more than a few rows before somebody typed how many.
            models.CheckConstraint(
                condition=~Q(status__in=[State.RUNNING, State.DONE])
                | Q(eligible__isnull=False, eligible__lte=MOST_WITHOUT_COUNT)
                | Q(eligible__isnull=False, confirmed_count__isnull=False, confirmed_count=F("eligible")),
                name="bulk_action_is_confirmed",
            ),
            models.CheckConstraint(condition=~Q(filters={}), name="bulk_action_has_a_filter"),
            models.CheckConstraint(condition=~Q(reason=""), name="bulk_action_has_a_reason"),
            models.CheckConstraint(
                condition=Q(status__in=WORKING) | Q(claim_token=None, lease_until=None), name="resting_bulk_is_free"
            ),
            models.CheckConstraint(
                condition=Q(total=None, done_count=0) | Q(total__isnull=False, done_count__lte=F("total")),
                name="bulk_done_within_total",
            ),
            models.CheckConstraint(condition=Q(moved_count__lte=F("done_count")), name="bulk_moved_within_done"),
            models.CheckConstraint(
                condition=~Q(status=State.DONE) | Q(total__isnull=False, done_count=F("total")),
                name="done_bulk_looked_at_all",
            ),
            models.CheckConstraint(condition=~Q(status=State.FAILED) | ~Q(error=""), name="failed_bulk_says_why"),
        ]
        indexes = [
            # Every second the bell asks for what waits; ended actions are not in it.
            models.Index(fields=["updated_at", "id"], condition=Q(status__in=WORKING), name="bulk_due"),
            # The list shows each person their own.
            models.Index(fields=["asked_by", "id"], name="bulk_of_person"),
        ]

    def __str__(self) -> str:
        return f"bulk action {self.pk}"

    @property
    def is_working(self) -> bool:
        """Whether a worker has something to do."""
        return self.status in WORKING

    @property
    def percent(self) -> int:
        return 100 * self.done_count // self.total if self.total else 0

    def prepare(self, **found: Any) -> Self:
        """Say what was found; now the operator decides."""
        return self.move_held("prepare", lapse_count=0, **found, **no_lease())

    def finish(self) -> Self:
        return self.move_held("finish", finished_at=Now(), **no_lease())

    def fail(self, error: str) -> Self:
        """End badly; what was done stays done."""
        return self.move_held("fail", finished_at=Now(), error=error[:1000], **no_lease())


class BulkItemQuerySet(models.QuerySet["BulkItem"]):
    """Questions about the rows of a bulk action."""

    def next_of(self, action: BulkAction, *, limit: int) -> list[UUID]:
        """Return the ids after the last that was done, in their order."""
        after = {"object_id__gt": action.last_object_id} if action.last_object_id else {}
        rows = self.filter(action=action, **after).order_by("object_id")
        return list(rows.values_list("object_id", flat=True)[:limit])

    def settle(self, outcome: str, note: str = "") -> int:
        """Write down what became of these rows."""
        return self.update(outcome=outcome, note=note[:200], done_at=Now())

    def outdated(self) -> Self:
        """Return lines of actions that ended long ago; each row's own timeline keeps what was done to it."""
        ended = BulkAction.objects.annotate(ended_at=Coalesce("finished_at", "updated_at"))
        return self.filter(action__in=ended.filter(ended_at__lt=Now() - KEEP_RESULTS_FOR))


class BulkItem(models.Model):
    """One row of a bulk action: how it was found, and what became of it."""

    class Outcome(models.TextChoices):
        """What became of a row."""

        WAITING = "", "waiting"
        MOVED = "moved", "moved"
        LEFT = "left", "left alone"

    action = models.ForeignKey(BulkAction, on_delete=models.PROTECT, related_name="items", db_index=False)
    object_id = models.UUIDField()
    found_as = models.CharField(max_length=32)
    outcome = models.CharField(max_length=5, choices=Outcome, blank=True, default="", db_default="")
    note = models.CharField(max_length=200, blank=True, default="", db_default="")
    done_at = models.DateTimeField(null=True)

    objects = BulkItemQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # A row is acted on once, and batches go by this order.
        constraints = [models.UniqueConstraint(fields=["action", "object_id"], name="one_line_per_bulk_row")]
        indexes = [
            # The page shows first what was left alone.
            models.Index(fields=["action", "object_id"], condition=Q(outcome="left"), name="bulk_rows_left"),
        ]

    def __str__(self) -> str:
        return f"{self.object_id} of {self.action_id}"
