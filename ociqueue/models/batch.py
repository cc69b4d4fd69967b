"""An upload to the provider, recorded before it is sent, so that a crash cannot hide what was sent."""

from collections.abc import Collection
from functools import cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import F, UUIDField
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from psycopg.types.json import Jsonb

from kilit.lock.constraints import checks
from kilit.lock.fast_sql import CompiledUpdate, parameter
from kilit.lock.identity import uuid7
from ociqueue.models.site import Site
from ociqueue.states import CONVERSIONS, SyncMethod

JOB_IDS = "ociqueue_upload_job_id"  # a sequence from 1 to 2³¹ − 1, which Google takes, that starts over
LOCK = "SELECT FROM ociqueue_uploadbatch WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
BATCH = parameter("batch", UUIDField())


class Counts(NamedTuple):
    """What became of the rows of an upload."""

    accepted: int
    received: int
    failed: int
    put_off: int
    late: int


# What an answer says of the whole upload.
ANSWER = (*Counts._fields, "by_action", "answered_job_id", "is_lost", "request_id", "note")


class UploadBatchQuerySet(models.QuerySet["UploadBatch"]):
    def answered(self) -> Self:
        return self.filter(answered_at__isnull=False).order_by("-created_at")

    def lock(self, batches: Collection[UUID]) -> None:
        """Lock uploads until the transaction ends: none of them can be marked as sent meanwhile."""
        if batches:
            with connection.cursor() as cursor:
                cursor.execute(LOCK, [list(batches)])

    def next_job_id(self) -> int:
        """Return a new number for an upload, under which Google reports what it counted."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT nextval(%s)", [JOB_IDS])
            return int(cursor.fetchone()[0])

    def mark_answered(self, batch: UUID, **columns: object) -> Counts | None:
        """Record that the answer was settled, and add its counts; return all counts, or None if it was marked before.

        `columns` are those of ANSWER.
        """
        given_columns = {**columns, "by_action": Jsonb(columns["by_action"])}
        found = _mark_answered().run(batch=batch, **given_columns)
        return Counts(*found[0]) if found else None

    def counts(self, batch: UUID) -> Counts:
        return Counts(*self.values_list(*Counts._fields).get(pk=batch))


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


@cache
def _mark_answered() -> CompiledUpdate:
    unanswered = UploadBatch.objects.filter(pk=BATCH, answered_at=None)
    fields: dict[str, Any] = {name: UploadBatch._meta.get_field(name) for name in ANSWER}
    columns = {name: parameter(name, field) for name, field in fields.items()}
    counts = {name: F(name) + columns[name] for name in Counts._fields}
    return CompiledUpdate(unanswered, {"answered_at": Now(), **columns, **counts}, ", ".join(Counts._fields))
