"""Orders that people type or import, as they are before they are sent."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from orchestrator.models.job import Job

KEEP_UNSENT_FOR = timedelta(days=90)


class OrderDraftQuerySet(models.QuerySet["OrderDraft"]):
    def unsent(self) -> Self:
        return self.filter(job=None)

    def forget_old(self) -> int:
        return self.unsent().filter(updated_at__lt=Now() - KEEP_UNSENT_FOR).delete()[0]


class OrderDraft(models.Model):
    """An order as it was typed, with its mistakes; once sent it names its job and no longer changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    created_by = models.CharField(_("created by"), max_length=200, help_text="An actor such as operator:ayse.")
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    updated_at = models.DateTimeField(_("changed at"), db_default=Now(), editable=False)
    # The list shows these two without reading the content.
    order_id = models.CharField(_("order id"), max_length=100, blank=True)
    part_count = models.PositiveIntegerField(_("parts"), default=0)
    content = models.JSONField(default=dict, help_text="Fields and rows as typed.")
    file_name = models.CharField(_("file"), max_length=255, blank=True)
    file_sha256 = models.CharField(max_length=64, blank=True)
    # Once sent, the file belongs to the job.
    file_content = models.BinaryField(null=True)
    layout = models.CharField(max_length=16, blank=True, help_text="How the sheet was read: kilit or list.")
    sources = models.JSONField(default=list, help_text="What was taken from where, in words.")
    cells = models.JSONField(default=dict, help_text="The sheet's cell of each field.")
    job = models.ForeignKey(Job, null=True, on_delete=models.PROTECT, related_name="drafts")
    sent_by = models.CharField(_("sent by"), max_length=200, blank=True)
    sent_at = models.DateTimeField(_("sent at"), null=True)

    objects = OrderDraftQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("draft"), _("drafts")
        default_permissions = ("view", "operate")
        constraints = [
            *checks(draft_with_job_was_sent=Q(job=None, sent_at=None) | Q(job__isnull=False, sent_at__isnull=False))
        ]
        indexes = [
            # The sweep looks for drafts to forget.
            models.Index(fields=["updated_at"], condition=Q(job=None), name="draft_unsent")
        ]

    def __str__(self) -> str:
        return self.order_id or str(self.pk)
