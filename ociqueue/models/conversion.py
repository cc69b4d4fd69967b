"""An offline conversion on its way to Google Ads: the row is the job."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Concat
from django.utils.translation import gettext_lazy as _

from kilit.lock.failures import Failures, error_group_field
from kilit.lock.guard import LifecycleModel
from kilit.lock.triggers import lifecycle_triggers
from ociqueue.models.batch import UploadBatch
from ociqueue.models.queryset import ATTEMPTS, ConversionQuerySet
from ociqueue.models.site import Site
from ociqueue.states import CONVERSIONS, ENDED, FAILING, LIVE, WAITING, Category, Status

PREFIX = "seal_"
FAILURES = Failures(
    CONVERSIONS, states=FAILING, code="provider_error_code", message="last_error", scope="site_id", prunable=True
)
CLICK_ID = Concat("gclid", "wbraid", "gbraid")  # the one there is, as an index knows it


class Conversion(LifecycleModel):
    """One conversion; it is valid before it can exist, so nothing has to be dropped after a claim."""

    lifecycle = CONVERSIONS

    class Consent(models.TextChoices):
        """What the visitor agreed to."""

        UNSPECIFIED = "UNSPECIFIED"
        GRANTED = "GRANTED"
        DENIED = "DENIED"

    CLICK_IDS: ClassVar = ("gclid", "wbraid", "gbraid")

    site = models.ForeignKey(
        Site,
        db_index=False,  # the indexes for lists begin with it; one more would be written by every move
        on_delete=models.PROTECT,
        related_name="conversions",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED, editable=False)
    action = models.CharField("conversion name", max_length=100)
    gclid = models.CharField(max_length=512, blank=True)
    wbraid = models.CharField(max_length=512, blank=True)
    gbraid = models.CharField(max_length=512, blank=True)
    conversion_time = models.DateTimeField()
    value = models.DecimalField(max_digits=15, decimal_places=3)
    currency = models.CharField(max_length=3)
    order_id = models.CharField(max_length=64, help_text=_("Google counts it once: it never changes."))
    consent = models.CharField(max_length=11, choices=Consent, default=Consent.UNSPECIFIED)
    source_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - unique only when given
    replaces = models.OneToOneField("self", null=True, blank=True, on_delete=models.PROTECT, related_name="replacement")
    attempt_count = models.PositiveIntegerField(default=0, help_text=_("How often it was claimed."))
    attempts_forgiven = models.PositiveIntegerField(default=0, help_text=_("Attempts before an operator's last retry."))
    claimed_at = models.DateTimeField(null=True)
    next_retry_at = models.DateTimeField(null=True)
    uploaded_at = models.DateTimeField(null=True, help_text=_("When Google confirmed it; a script cannot know."))
    last_error = models.CharField(max_length=1000, blank=True)
    provider_error_code = models.CharField(max_length=64, blank=True)
    provider_error_category = models.CharField(max_length=10, choices=Category, blank=True)
    error_group = error_group_field()
    provider_request_id = models.CharField(max_length=64, blank=True)
    open_batch = models.ForeignKey(
        UploadBatch,
        null=True,
        db_index=False,  # finished rows have none, so the partial index below is all it takes
        on_delete=models.PROTECT,
        related_name="open_rows",
        help_text=_("The upload that holds it: the uploader's proof of its claim."),
    )
    outcome_unknown = models.BooleanField(
        db_default=False, help_text=_("It was sent once and no answer came: Google may have it.")
    )

    objects = ConversionQuerySet.as_manager()

    class Meta(LifecycleModel.Meta):
        abstract = False
        db_table = "offline_conversion_queue"
        triggers = [
            *lifecycle_triggers(
                CONVERSIONS,
                scope="site_id",
                facts=["attempt_count", "provider_error_code", "provider_error_category", "last_error"],
                finished=ENDED,
            ),
            *FAILURES.triggers(),
        ]
        constraints = [
            # Google takes one click id a conversion.
            models.CheckConstraint(
                condition=(
                    Q(~Q(gclid=""), wbraid="", gbraid="")
                    | Q(~Q(wbraid=""), gclid="", gbraid="")
                    | Q(~Q(gbraid=""), gclid="", wbraid="")
                ),
                name="conversion_has_one_click_id",
            ),
            # The upper bound also keeps NaN out, which PostgreSQL holds greater than every number.
            models.CheckConstraint(condition=Q(value__gte=0, value__lt=10**12), name="conversion_value_is_a_price"),
            models.CheckConstraint(condition=Q(currency__regex="^[A-Z]{3}$"), name="conversion_currency_is_a_code"),
            models.CheckConstraint(
                condition=~Q(status=Status.PROCESSING) | Q(claimed_at__isnull=False), name="processing_has_claimed_at"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.QUEUED) | Q(claimed_at=None, next_retry_at=None), name="queued_is_free"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.FAILED) | ~Q(provider_error_code=""), name="failed_has_error_code"
            ),
            models.CheckConstraint(
                condition=Q(uploaded_at=None) | Q(status=Status.COMPLETED), name="only_completed_is_uploaded"
            ),
            models.CheckConstraint(
                condition=Q(open_batch=None) | Q(status=Status.PROCESSING), name="only_processing_has_batch"
            ),
            models.CheckConstraint(
                condition=Q(attempts_forgiven__lte=F("attempt_count")), name="forgiven_attempts_were_made"
            ),
            # A source's second delivery of the same conversion finds the first.
            models.UniqueConstraint(
                fields=["site", "action", "source_key"],
                condition=Q(source_key__isnull=False),
                name="one_conversion_per_source_key",
            ),
        ]
        indexes = [
            # Claims look for a site's oldest; finished rows are not in it, however many there are.
            models.Index(fields=["site", "created_at", "id"], condition=Q(status__in=WAITING), name="conversion_due"),
            # Every second the bell asks for what is due, past however many wait for their time.
            models.Index(
                fields=["site", "next_retry_at"], condition=Q(status__in=WAITING), name="conversion_due_by_time"
            ),
            # Recover looks for old claims.
            models.Index(fields=["claimed_at"], condition=Q(status=Status.PROCESSING), name="conversion_claimed"),
            # An answer settles the rows of its upload.
            models.Index(fields=["open_batch"], condition=Q(open_batch__isnull=False), name="conversion_of_batch"),
            # The cap looks for used-up attempts.
            models.Index(ATTEMPTS, condition=Q(status__in=LIVE), name="conversion_attempts"),
            # The sweep that tries passing failures again.
            models.Index(
                ATTEMPTS,
                condition=Q(status=Status.FAILED, provider_error_category=Category.TRANSIENT),
                name="conversion_passing_failures",
            ),
            # Operators look a row up by what Google's screens and the shop's orders call it.
            models.Index(fields=["order_id"], name="conversion_by_order_id"),
            models.Index(CLICK_ID, name="conversion_by_click_id"),
            # Lists page through a site, with or without a state.
            models.Index(fields=["site", "id"], name="conversion_of_site"),
            models.Index(fields=["site", "status", "id"], name="conversion_of_site_in_status"),
            # Failures of all sites, however many rows that went well are newer. By id alone, because then the planner
            # knows that they lie in the order of the list.
            models.Index(fields=["id"], condition=Q(status=Status.FAILED), name="conversion_failed"),
            models.Index(fields=["id"], condition=Q(status=Status.RETRY), name="conversion_in_retry"),
            # Lists of one error: a group, a code, a kind. Rows without an error are in none of them.
            FAILURES.index("conversion_of_error_group"),
            models.Index(
                fields=["provider_error_code", "id"], condition=~Q(provider_error_code=""), name="conversion_of_code"
            ),
            models.Index(
                fields=["provider_error_category", "id"],
                condition=~Q(provider_error_category=""),
                name="conversion_of_category",
            ),
        ]

    def __str__(self) -> str:
        return f"{PREFIX}{self.pk}"

    @property
    def click_id(self) -> str:
        return self.gclid or self.wbraid or self.gbraid
