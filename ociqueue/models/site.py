"""A site, as Google's queue knows it: its account, sender, currency and consent, and when its script last called."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import connection, models
from django.utils.translation import gettext_lazy as _

from kilit.sites.models import SiteQuerySet, Tenant
from ociqueue.states import DeniedConsent, SyncMethod
from ociqueue.values.currencies import CURRENCIES

SILENT_AFTER = timedelta(hours=24)
NOTE_EXPORT = """
    UPDATE ociqueue_site SET last_export_at = now()
    WHERE id = %s AND (%s OR set_config('synchronous_commit', 'off', true) = 'off')
"""


def known_currency(code: str) -> None:
    if code not in CURRENCIES:
        raise ValidationError(_("%(code)s is not an ISO 4217 currency code, such as TRY."), params={"code": code})


class Site(Tenant):
    tenant = models.OneToOneField(
        Tenant, parent_link=True, primary_key=True, db_column="id", on_delete=models.CASCADE, related_name="google"
    )
    default_currency = models.CharField(
        _("default currency"),
        max_length=3,
        blank=True,
        validators=[known_currency],
        help_text=_("For conversions without a currency; if it is empty, they are rejected."),
    )
    # That of the credentials where there are some; otherwise typed in, or as the script reported it.
    customer_id = models.CharField(
        _("customer id"),
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text=_("Of the Google Ads account, as in 123-456-7890; shown beside the name."),
    )
    sync_method = models.CharField(_("sync method"), max_length=20, choices=SyncMethod, default=SyncMethod.SCRIPT)
    requeue_transient = models.BooleanField(
        _("requeue transient"), default=False, help_text=_("Retry temporary failures automatically.")
    )
    accepts_identifiers = models.BooleanField(
        _("accept hashed e-mail and phone"),
        default=False,
        db_default=False,
        help_text=_(
            "Conversions may carry an e-mail address or phone number. Kilit stores and sends only their hashes. Turn "
            "it on only if your customers have consented and the Google Ads account has accepted the customer data "
            "terms."
        ),
    )
    denied_consent = models.CharField(
        _("if consent is denied"),
        max_length=8,
        choices=DeniedConsent,
        default=DeniedConsent.WITHHOLD,
        db_default=DeniedConsent.WITHHOLD,
        help_text=_(
            "For conversions whose visitors do not let Google use their data for ads. Those that are not sent end as "
            "WITHHELD_CONSENT_DENIED, which is in no failure rate."
        ),
    )
    last_export_at = models.DateTimeField(_("last export at"), null=True, editable=False)
    last_ack_at = models.DateTimeField(_("last ack at"), null=True, editable=False)

    objects = SiteQuerySet["Site"].as_manager()  # type: ignore[assignment,misc] # without the verbs of its base

    class Meta:
        default_permissions = ("view", "add", "change", "operate")
        verbose_name, verbose_name_plural = _("site"), _("sites")

    @property
    def customer(self) -> str:
        """Return the customer id as Google shows it."""
        digits = self.customer_id
        return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}" if digits else ""

    @property
    def label(self) -> str:
        """Return what tells the site from others of a similar name."""
        return f"{self.name} · {self.customer}" if self.customer_id else self.name

    def note_export(self) -> None:
        """Record that the script called; a script that stops calling raises an alarm.

        Not part of the claim, or two scripts would wait for each other; and it does not wait for the disk.
        """
        with connection.cursor() as cursor:
            cursor.execute(NOTE_EXPORT, [self.pk, connection.in_atomic_block])

    def note_ack(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ociqueue_site SET last_ack_at = statement_timestamp() WHERE id = %s", [self.pk])
