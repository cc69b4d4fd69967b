"""What Google says it counted: per day, conversion action and client, and how that compares with our own counts."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ociqueue.models.site import Site

SHOWN_FOR = timedelta(days=7)


class UploadSummaryQuerySet(models.QuerySet["UploadSummary"]):
    def store(self, site: Site, rows: Iterable["UploadSummary"], *, read_at: datetime) -> None:
        """Store a whole answer of Google: rows of an earlier answer that are not in it are deleted."""
        self.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["site", "upload_date", "action_id", "client"],
            update_fields=["action_name", "successful", "failed", "pending", "read_at"],
        )
        self.filter(site=site, read_at__lt=read_at).delete()


class UploadSummary(models.Model):
    """What Google counted on one day, for one conversion action and one kind of client."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="upload_summaries")
    upload_date = models.DateField(help_text="In the Google account's time zone.")
    action_id = models.BigIntegerField()
    action_name = models.CharField(max_length=200)
    client = models.CharField(max_length=40, help_text="Google's name for the kind of uploader, as GOOGLE_ADS_API.")
    successful = models.PositiveBigIntegerField()
    failed = models.PositiveBigIntegerField()
    pending = models.PositiveBigIntegerField()
    read_at = models.DateTimeField()

    objects = UploadSummaryQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["site", "upload_date", "action_id", "client"], name="one_summary_per_day_action_and_client"
            )
        ]

    def __str__(self) -> str:
        return f"{self.upload_date} {self.action_name} by {self.client}"


class ReadBackQuerySet(models.QuerySet["ReadBack"]):
    def note(self, site: Site, **columns: object) -> None:
        self.update_or_create(site=site, defaults=columns)

    def request(self, site: Site) -> None:
        """Ask a worker to read Google's counts now: the web process never calls Google."""
        self.note(site, asked_at=Now())

    def differing(self) -> "ReadBackQuerySet":
        """Return what differs, unless it was compared so long ago that all its days are over."""
        return self.filter(differs=True, compared_at__gte=Now() - SHOWN_FOR)


class ReadBack(models.Model):
    """The last reading of Google's counts for a site, and what comparing it with ours found."""

    site = models.OneToOneField(Site, on_delete=models.CASCADE, primary_key=True, related_name="read_back")
    customer_id = models.CharField(_("customer id"), max_length=10, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True)
    asked_at = models.DateTimeField(_("asked at"), null=True)
    tried_at = models.DateTimeField(_("tried at"), null=True)
    read_at = models.DateTimeField(_("read at"), null=True)
    compared_at = models.DateTimeField(_("compared at"), null=True)
    error = models.CharField(_("error"), max_length=1000, blank=True)
    alerts = models.JSONField(default=list, help_text="Errors that Google reports, with their share of the uploads.")
    days = models.JSONField(default=list, help_text="Ours beside Google's, by day and conversion action.")
    actions = models.JSONField(null=True, help_text="Google's action by conversion name, at the last reading.")
    mapped_since = models.DateTimeField(null=True, help_text="Since when the actions are these.")
    is_shared = models.BooleanField(default=False, help_text="Other sites upload to the same account.")
    differs = models.BooleanField(default=False)
    differs_since = models.DateTimeField(null=True)
    miscounted = models.JSONField(
        default=list,
        db_default=models.Value([], output_field=models.JSONField()),
        help_text="Uploads of the last days that do not add up.",
    )

    objects = ReadBackQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Google's counts of {self.site}"
