"""A bulk action: one row for the action, and one item for each row it acts on."""

from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from kilit.batches.jobs import BatchJob, BatchJobQuerySet, is_working, rests_freely
from kilit.batches.operations import Skip
from kilit.batches.states import BULK_ACTIONS, BulkState
from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.triggers import fixed_texts, lifecycle_triggers

MOST_WITHOUT_COUNT = 100
KEEP_RESULTS_FOR = timedelta(days=90)
NOT_SKIPPED = Skip("")


class BulkActionQuerySet(BatchJobQuerySet["BulkAction"]):
    def start(self, *, count: int | None) -> int:
        """Start it; more than a few rows need the operator to type how many it will change."""
        enough = Q(eligible__lte=MOST_WITHOUT_COUNT) | Q(eligible=count)
        return self.filter(enough, eligible__gt=0).move("start", confirmed_count=count, started_at=Now())


class BulkAction(BatchJob):
    """One operation over all rows that matched a filter at one moment, in the name of the user who asked."""

    lifecycle = BULK_ACTIONS

    status = models.CharField("state", max_length=9, choices=BulkState, default=BulkState.PLANNED, editable=False)
    queue = models.CharField(max_length=32)
    action = models.CharField(max_length=32)
    options = models.JSONField(default=dict)
    reason = models.CharField(max_length=1000)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bulk_actions")
    filters = models.JSONField(help_text="The list's filters, as they were in its address.")
    filters_text = models.CharField(max_length=1000, blank=True, help_text="The filters as the list shows them.")
    zone = models.CharField(max_length=64, default="UTC", help_text="The time zone in which filters by day are read.")
    as_of = models.DateTimeField(db_default=Now(), help_text="Filters by age count from here.")
    scopes = models.JSONField(null=True, help_text="What the rows belong to, such as sites; it decides who sees this.")
    dry_run = models.JSONField(default=dict, help_text="Rows by state and reason, counted before it starts.")
    total = models.PositiveIntegerField(null=True, help_text="Rows recorded.")
    eligible = models.PositiveIntegerField(null=True, help_text="Recorded rows that it would have changed then.")
    confirmed_count = models.PositiveIntegerField(null=True, help_text="What the operator typed.")
    done_count = models.PositiveIntegerField(default=0, help_text="Rows processed.")
    moved_count = models.PositiveIntegerField(default=0, help_text="Rows changed.")
    skipped = models.JSONField(default=list, help_text="Rows skipped: a list of state, reason and count.")
    last_object_id = models.UUIDField(null=True, help_text="All up to this id are processed.")

    objects = BulkActionQuerySet.as_manager()

    class Meta(BatchJob.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("bulk action"), _("bulk actions")
        default_permissions = ("view",)  # type: ignore[assignment]
        triggers = lifecycle_triggers(
            BULK_ACTIONS,
            facts=["action", "total", "eligible", "done_count", "moved_count", "error"],
            machine_verbs=["finish", "fail"],
            fixed=["queue", "action", "asked_by_id"],
            counters=Counters(never_down=["done_count", "moved_count"]),
        )
        # What it was asked for stays as it was, but may name a person who is to be forgotten.
        triggers += [fixed_texts("filters", "options", subject="bulk actions")]
        constraints = [
            *checks(
                # Nothing runs over more than a few rows before the operator typed how many.
                bulk_action_is_confirmed=~Q(status__in=[BulkState.RUNNING, BulkState.DONE])
                | Q(eligible__isnull=False, eligible__lte=MOST_WITHOUT_COUNT)
                | Q(eligible__isnull=False, confirmed_count__isnull=False, confirmed_count=F("eligible")),
                bulk_action_has_a_filter=~Q(filters={}),
                bulk_action_has_a_reason=~Q(reason=""),
                resting_bulk_is_free=rests_freely(BULK_ACTIONS),
                bulk_done_within_total=Q(total=None, done_count=0) | Q(total__isnull=False, done_count__lte=F("total")),
                bulk_moved_within_done=Q(moved_count__lte=F("done_count")),
                done_bulk_looked_at_all=~Q(status=BulkState.DONE) | Q(total__isnull=False, done_count=F("total")),
                failed_bulk_says_why=~Q(status=BulkState.FAILED) | ~Q(error=""),
            )
        ]
        indexes = [
            # Supervisors ask often for what is due; finished actions are not in it.
            models.Index(fields=["updated_at", "id"], condition=is_working(BULK_ACTIONS), name="bulk_due"),
            # The list shows users their own.
            models.Index(fields=["asked_by", "id"], name="bulk_of_person"),
        ]

    def __str__(self) -> str:
        return f"bulk action {self.pk}"

    @property
    def percent(self) -> int:
        return 100 * self.done_count // self.total if self.total else 0


class BulkItemQuerySet(models.QuerySet["BulkItem"]):
    def next_of(self, action: BulkAction, *, limit: int) -> list[UUID]:
        after = {"object_id__gt": action.last_object_id} if action.last_object_id else {}
        rows = self.filter(action=action, **after).order_by("object_id")
        return list(rows.values_list("object_id", flat=True)[:limit])

    def settle(self, result: str, skip: Skip = NOT_SKIPPED) -> int:
        return self.update(result=result, state=skip.state, reason=skip.reason[:200], done_at=Now())

    def outdated(self) -> Self:
        """Return items of actions that ended long ago; each row's own timeline keeps what was done to it."""
        ended = BulkAction.objects.annotate(ended_at=Coalesce("finished_at", "updated_at"))
        return self.filter(action__in=ended.filter(ended_at__lt=Now() - KEEP_RESULTS_FOR))


class BulkItem(models.Model):
    class Result(models.TextChoices):
        WAITING = "", "waiting"
        CHANGED = "changed", "changed"
        SKIPPED = "skipped", "skipped"

    action = models.ForeignKey(BulkAction, on_delete=models.PROTECT, related_name="items", db_index=False)
    object_id = models.UUIDField()
    found_as = models.CharField(max_length=32)
    result = models.CharField(max_length=7, choices=Result, blank=True, default="", db_default="")
    state = models.CharField(max_length=32, blank=True, default="", db_default="", help_text="When it was skipped.")
    reason = models.CharField(max_length=200, blank=True, default="", db_default="", help_text="Besides its state.")
    done_at = models.DateTimeField(null=True)

    objects = BulkItemQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # A row is processed once, and batches follow this order.
        constraints = [models.UniqueConstraint(fields=["action", "object_id"], name="one_line_per_bulk_row")]
        indexes = [
            # The page shows skipped rows first.
            models.Index(fields=["action", "object_id"], condition=Q(result="skipped"), name="bulk_rows_skipped"),
        ]

    def __str__(self) -> str:
        return f"{self.object_id} of {self.action_id}"


def objects_of(actions: Any) -> "list[models.QuerySet[Any, UUID]]":
    """Return the ids of actions, and of the rows that they changed: their events have the actions' reasons."""
    items = BulkItem.objects.filter(action__in=actions.values("pk"))
    return [actions.values_list("pk", flat=True), items.values_list("object_id", flat=True)]
