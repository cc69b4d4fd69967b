"""An upload to the provider, written down before it is sent: what was asked is known whatever crashes."""

from collections.abc import Collection
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.identity import uuid7
from ociqueue.models.site import Site


class UploadBatchQuerySet(models.QuerySet["UploadBatch"]):
    def answered(self) -> Self:
        """Return what came to an end, newest first."""
        return self.filter(answered_at__isnull=False).order_by("-created_at")

    def keep(self, batches: Collection[UUID]) -> None:
        """Lock uploads until the transaction ends: meanwhile none goes out, and none that does loses a row."""
        if batches:
            list(self.filter(pk__in=batches).order_by("pk").select_for_update(no_key=True).values_list("pk"))

    def send(self, batch: UUID, *, rows: "models.QuerySet[Any]") -> bool:
        """Write down that these rows go out now; false when that was written before."""
        ids = ArraySubquery(rows.order_by("pk").values("pk"))
        return bool(self.filter(pk=batch, sent_at=None).update(sent_at=Now(), row_ids=ids))

    def answer(self, batch: UUID, **told: Any) -> bool:
        """Write down that the answer is settled now, and what it did; false when that was written before."""
        return bool(self.filter(pk=batch, answered_at=None).update(answered_at=Now(), **told))


class UploadBatch(models.Model):
    """One upload: claimed, then sent, then answered; sent and never answered means that nobody knows."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="upload_batches")
    size = models.PositiveIntegerField(help_text=_("Rows claimed for it."))
    is_probe = models.BooleanField(default=False, help_text=_("One row, to see whether the circuit may close."))
    row_ids = ArrayField(models.UUIDField(), default=list, help_text="Rows sent.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    sent_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    accepted = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    put_off = models.PositiveIntegerField(default=0)
    late = models.PositiveIntegerField(default=0, help_text=_("Rows that a sweep or an operator had taken back."))
    is_lost = models.BooleanField(default=False, help_text="No answer came: two in a row are an outage.")
    request_id = models.CharField(max_length=64, blank=True)
    note = models.CharField(max_length=1000, blank=True)

    objects = UploadBatchQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "upload batches"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(answered_at=None) | models.Q(sent_at__isnull=False), name="answered_was_sent"
            ),
        ]
        indexes = [
            # The console lists a site's uploads, newest first.
            models.Index(fields=["site", "-created_at"], name="batch_of_site"),
        ]

    def __str__(self) -> str:
        return f"upload {self.pk}"
