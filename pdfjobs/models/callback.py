"""Addresses that callers want the results of their jobs sent to. The outbox sends them (pdfjobs.webhooks)."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from kilit.outgoing.urls import MOST_CHARACTERS

# After the job has expired: messages are made within seconds, or days later if the outbox was stopped.
KEPT_FOR = timedelta(days=7)


class PdfCallbackQuerySet(models.QuerySet["PdfCallback"]):
    def forget_old(self) -> int:
        """Delete what is no longer needed; an address may contain what is personal."""
        return self.filter(created_at__lt=Now() - settings.PDF_TTL - KEPT_FOR).delete()[0]


class PdfCallback(models.Model):
    job = models.ForeignKey("pdfjobs.PdfJob", on_delete=models.CASCADE, related_name="callbacks", db_index=False)
    url = models.CharField(max_length=MOST_CHARACTERS)
    # Requested when the result was known already: only the event that recorded the request leads to a call.
    is_late = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    objects: Any = PdfCallbackQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = [
            # Many requests for one document call an address once; also finds the callbacks of a job.
            models.UniqueConstraint(fields=["job", "url"], name="one_pdf_callback_per_url"),
        ]
        indexes = [
            # The cleanup: old ones.
            models.Index(fields=["created_at"], name="pdf_callback_by_age"),
        ]

    def __str__(self) -> str:
        return f"callback of {self.job_id}"
