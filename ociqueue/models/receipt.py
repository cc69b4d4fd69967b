"""A request that the provider took and has not given its verdict on: the proof that it has the rows."""

from datetime import timedelta
from typing import Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Case, ExpressionWrapper, F, Q, Value, When
from django.db.models.functions import Least, Now, Power
from django.utils.translation import gettext_lazy as _

from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from ociqueue.models.batch import UploadBatch

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
        """Return receipts whose verdict is not settled."""
        return self.filter(settled_at=None)

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
