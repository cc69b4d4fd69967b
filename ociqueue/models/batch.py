"""An upload to the provider, recorded before it is sent, so that a crash cannot hide what was sent; and its receipts.

A receipt is a request that the provider took and gives its verdict on later: the proof that it has the rows.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Case, ExpressionWrapper, F, Q, Value, When
from django.db.models.functions import Coalesce, Least, Now, Power
from django.utils.translation import gettext_lazy as _

from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from ociqueue.models.site import Site
from ociqueue.states import CONVERSIONS, SyncMethod

JOB_IDS = "ociqueue_upload_job_id"  # a sequence from 1 to 2³¹ − 1, which Google takes, that starts over
LOCK = "SELECT FROM ociqueue_uploadbatch WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
COUNTS = ("accepted", "received", "failed", "put_off", "late")


COMPARED_FOR = timedelta(days=30)  # with Google's summaries of the last days, and longer with room to spare


class UploadBatchQuerySet(models.QuerySet["UploadBatch"]):
    def answered(self) -> Self:
        return self.filter(answered_at__isnull=False).order_by("-created_at")

    def finished(self) -> Self:
        """Return uploads that may be pruned, with the time of their last change: they hold no row and no receipt."""
        free = self.filter(open_rows=None, open_adjustments=None, receipts=None, created_at__lt=Now() - COMPARED_FOR)
        return free.annotate(updated_at=Coalesce("answered_at", "sent_at", "created_at"))

    def lock(self, batches: Collection[UUID]) -> None:
        """Lock uploads until the transaction ends: nothing can mark them as sent meanwhile."""
        if batches:
            with connection.cursor() as cursor:
                cursor.execute(LOCK, [list(batches)])

    def next_job_id(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT nextval(%s)", [JOB_IDS])
            return int(cursor.fetchone()[0])

    def mark_answered(self, batch: UUID, counts: Mapping[str, int], **columns: object) -> bool:
        """Record that the reply was settled, and add its counts; false if it was recorded before."""
        added = {name: F(name) + number for name, number in counts.items()}
        return bool(self.filter(pk=batch, answered_at=None).update(answered_at=Now(), **added, **columns))


class UploadBatch(models.Model):
    """One upload: claimed, then sent, then answered. Sent but not answered means that the outcome is unknown."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    site = models.ForeignKey(Site, verbose_name=_("site"), on_delete=models.PROTECT, related_name="upload_batches")
    sender = models.CharField(
        _("sent by"), max_length=20, choices=SyncMethod, db_default=SyncMethod.API, editable=False
    )
    queue = models.CharField(_("queue"), max_length=32, db_default=CONVERSIONS.queue, editable=False)
    size = models.PositiveIntegerField(_("size"), help_text=_("Rows claimed for it."))
    is_probe = models.BooleanField(
        _("is probe"), default=False, help_text=_("One row, sent to test whether the circuit can close.")
    )
    row_ids = ArrayField(models.UUIDField(), default=list, help_text="Rows sent.")
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    sent_at = models.DateTimeField(_("sent at"), null=True)
    answered_at = models.DateTimeField(_("answered at"), null=True)
    accepted = models.PositiveIntegerField(_("accepted"), default=0)
    received = models.PositiveIntegerField(
        _("received"), db_default=0, help_text=_("Google has them; its verdict comes later.")
    )
    failed = models.PositiveIntegerField(_("failed"), default=0)
    put_off = models.PositiveIntegerField(_("deferred"), default=0)
    late = models.PositiveIntegerField(
        _("late"), default=0, help_text=_("Rows that a sweep or an operator had taken back.")
    )
    unsent = models.PositiveIntegerField(db_default=0, help_text="Of those deferred: rows that were not sent.")
    by_action = models.JSONField(
        null=True, help_text="What the provider answered, counted by conversion name; empty while no answer is known."
    )
    job_id = models.PositiveIntegerField(
        _("job id"), null=True, help_text=_("Our number for the upload; Google reports its counts under it.")
    )
    answered_job_id = models.PositiveBigIntegerField(_("job id that Google answered"), null=True)
    is_lost = models.BooleanField(default=False, help_text="No answer came; two in a row count as an outage.")
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    note = models.CharField(_("note"), max_length=1000, blank=True)

    objects = UploadBatchQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("upload batch"), _("upload batches")
        constraints = [*checks(answered_was_sent=models.Q(answered_at=None) | models.Q(sent_at__isnull=False))]
        indexes = [
            # The console lists a site's uploads, newest first.
            models.Index(fields=["site", "-created_at"], name="batch_of_site")
        ]

    def __str__(self) -> str:
        return f"upload {self.pk}"


# Google asks for the first question after half an hour, and for hourly ones at most.
FIRST_CHECK_AFTER = timedelta(minutes=30)
LONGEST_WAIT = timedelta(hours=1)
GROWTH = 1.3
OVERDUE_AFTER = timedelta(hours=24)  # Google's own schedule ends here; the console warns from now on
LOST_AFTER = timedelta(hours=72)
NO_QUOTA_WAIT = timedelta(minutes=1)
# The wait after the first question, the second, and so on; more doublings would overflow an interval.
NEXT_WAIT = Least(
    ExpressionWrapper(
        Value(FIRST_CHECK_AFTER) * Power(Value(GROWTH), Least(F("checks") + Value(1), Value(10))),
        output_field=models.DurationField(),
    ),
    Value(LONGEST_WAIT),
    output_field=models.DurationField(),
)


class ReceiptQuerySet(models.QuerySet["Receipt"]):
    def open(self) -> Self:
        return self.filter(settled_at=None)

    def finished(self) -> Self:
        """Return those that may be pruned, with the time of their verdict."""
        old = self.filter(settled_at__isnull=False, received_at__lt=Now() - COMPARED_FOR)
        return old.annotate(updated_at=F("settled_at"))

    def due(self) -> Self:
        return self.open().filter(next_check_at__lte=Now())

    def overdue(self) -> Self:
        return self.open().filter(received_at__lte=Now() - OVERDUE_AFTER)

    def take_due(self) -> "Receipt | None":
        """Take the receipt that is due longest and schedule its next check, so that a crash only delays the question.

        Receipts that another worker is taking are skipped. `is_last` says that there was no verdict for 72 hours.
        """
        is_last = Case(When(received_at__lte=Now() - LOST_AFTER, then=Value(True)), default=Value(False))
        due = self.due().order_by("next_check_at").select_related("batch__site").defer("batch__row_ids")
        with transaction.atomic():
            receipt = due.annotate(is_last=is_last).select_for_update(skip_locked=True, of=("self",)).first()
            if receipt:
                ahead = {"next_check_at": Now() + NEXT_WAIT, "checked_at": Now(), "checks": F("checks") + 1}
                self.filter(pk=receipt.pk).update(**ahead)
        return receipt

    def postpone(self, receipt: UUID) -> None:
        """Schedule a question again that did not fit into the quota; it does not count."""
        self.open().filter(pk=receipt).update(next_check_at=Now() + NO_QUOTA_WAIT, checks=F("checks") - 1)

    def mark_settled(self, receipt: UUID, **columns: object) -> bool:
        """Record that the verdict was settled, and its counts; false if it was settled before."""
        settled = {"settled_at": Now(), "next_check_at": None}
        return bool(self.open().filter(pk=receipt).update(**settled, **columns))


class Receipt(models.Model):
    """One request of an upload. The verdict names rows by their place in it, so the order that was sent is kept."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    batch = models.ForeignKey(
        UploadBatch, verbose_name=_("upload batch"), on_delete=models.PROTECT, related_name="receipts"
    )
    request_id = models.CharField(_("request id"), max_length=64)
    row_ids = ArrayField(models.UUIDField(), help_text="Rows of the request, in the order that was sent.")
    received_at = models.DateTimeField(_("received at"), db_default=Now(), editable=False)
    next_check_at = models.DateTimeField(_("next check at"), null=True)
    checks = models.PositiveIntegerField(_("checks"), default=0)
    checked_at = models.DateTimeField(_("checked at"), null=True)
    settled_at = models.DateTimeField(_("settled at"), null=True)
    verdict = models.CharField(_("verdict"), max_length=40, blank=True)
    confirmed = models.PositiveIntegerField(_("confirmed"), default=0)
    rejected = models.PositiveIntegerField(_("rejected"), default=0)
    put_off = models.PositiveIntegerField(_("deferred"), default=0)
    late = models.PositiveIntegerField(
        _("late"), default=0, help_text=_("Rows that an operator had taken back before the verdict.")
    )
    note = models.CharField(_("note"), max_length=1000, blank=True)

    objects = ReceiptQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name, verbose_name_plural = _("receipt"), _("receipts")
        constraints = [
            *checks(
                open_receipt_has_next_check=Q(settled_at=None, next_check_at__isnull=False)
                | Q(settled_at__isnull=False, next_check_at=None)
            )
        ]
        indexes = [
            # The sweep asks for the verdicts that are due.
            models.Index(fields=["next_check_at"], condition=Q(settled_at=None), name="receipt_due"),
            # The console warns of the oldest receipt without a verdict.
            models.Index(fields=["received_at"], condition=Q(settled_at=None), name="receipt_open"),
        ]

    def __str__(self) -> str:
        return f"receipt {self.request_id}"
