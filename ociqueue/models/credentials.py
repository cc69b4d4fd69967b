"""A site's Google Ads credentials: stored encrypted and never shown."""

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.access.encryption import DecryptionError, decrypt, encrypt
from ociqueue.models.circuit import Circuit
from ociqueue.models.site import Site

CUSTOMER = re.compile(r"[0-9]{10}")
ACTION = re.compile(r"customers/([0-9]{10})/conversionActions/[0-9]+")


@dataclass(frozen=True, kw_only=True)
class GoogleAdsAccount:
    """What an upload for a site needs: an OAuth client's login or a service account's. Secrets stay out of `repr`."""

    customer_id: str
    client_id: str = field(repr=False, default="")
    client_secret: str = field(repr=False, default="")
    refresh_token: str = field(repr=False, default="")
    # What `normalize_service_account` returns; when it is set, it is the login.
    service_account: str = field(repr=False, default="")
    conversion_action: str
    login_customer_id: str = ""
    developer_token: str = field(repr=False, default="")
    conversion_actions: dict[str, str] = field(default_factory=dict)

    def action_of(self, conversion_name: str) -> str:
        return self.conversion_actions.get(conversion_name, self.conversion_action)

    @property
    def project(self) -> str:
        """Return what Google counts requests by: the OAuth client, or the service account's project."""
        if self.service_account:
            return f"project:{json.loads(self.service_account)['project_id']}"
        return f"client:{self.client_id}"

    @property
    def service_account_email(self) -> str:
        return str(json.loads(self.service_account)["client_email"]) if self.service_account else ""


def normalize_customer_id(text: str) -> str:
    """Return a customer id without its dashes; ValueError if it is not one."""
    digits = text.replace("-", "").strip()
    if not CUSTOMER.fullmatch(digits):
        raise ValueError(gettext("A customer id has ten digits, as in 123-456-7890."))
    return digits


def check_customer_id(site: Site, text: str) -> str:
    """Return the customer id to store for a site; ValueError if it is not one, or not that of its credentials."""
    digits = normalize_customer_id(text) if text.strip() else ""
    stored = Credentials.objects.filter(site=site.pk).first()
    with suppress(DecryptionError):
        known = stored.account().customer_id if stored else digits
        if digits and digits != known:
            message = gettext("The site's Google credentials are for customer %(customer)s; change it there.")
            raise ValueError(message % {"customer": known})
        return known
    return digits


def normalize_action(text: str, *, customer_id: str) -> str:
    """Return the resource name of a conversion action, given by name or number; ValueError if it is not one."""
    text = text.strip()
    resource = f"customers/{customer_id}/conversionActions/{text}" if text.isascii() and text.isdigit() else text
    found = ACTION.fullmatch(resource)
    if not found:
        message = gettext(
            "Enter the number of a conversion action, or customers/%(customer)s/conversionActions/NUMBER."
        )
        raise ValueError(message % {"customer": customer_id})
    if found[1] != customer_id:
        message = gettext("This conversion action belongs to customer %(other)s, but uploads go to %(customer)s.")
        raise ValueError(message % {"other": found[1], "customer": customer_id})
    return resource


class CredentialsQuerySet(models.QuerySet["Credentials"]):
    def store(self, site: Site, account: GoogleAdsAccount) -> "Credentials":
        """Encrypt and store credentials, and make the site's next probe due at once."""
        with transaction.atomic():
            stored, _ = self.update_or_create(
                site=site,
                defaults={
                    "encrypted": encrypt(json.dumps(asdict(account))),
                    "changed_at": Now(),
                    "checked_at": None,
                    "check_passed": None,
                    "check_report": [],
                },
            )
            Circuit.objects.filter(site=site).probe_now()
            Site.objects.filter(pk=site.pk).update(customer_id=account.customer_id)
        return stored

    def awaiting_check(self) -> "CredentialsQuerySet":
        return self.filter(Q(checked_at=None) | Q(checked_at__lt=F("check_asked_at")), check_asked_at__isnull=False)


class Credentials(models.Model):
    site = models.OneToOneField(Site, on_delete=models.CASCADE, related_name="credentials")
    encrypted = models.TextField(editable=False)
    changed_at = models.DateTimeField(db_default=Now(), editable=False)
    check_asked_at = models.DateTimeField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    check_passed = models.BooleanField(null=True, editable=False)
    check_report = models.JSONField(default=list, editable=False)

    objects = CredentialsQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = verbose_name_plural = _("credentials")

    def __str__(self) -> str:
        return f"credentials of {self.site}"

    def account(self) -> GoogleAdsAccount:
        return GoogleAdsAccount(**json.loads(decrypt(self.encrypted)))

    def request_check(self) -> None:
        """Ask a worker to check the credentials: the web process never calls Google."""
        Credentials.objects.filter(pk=self.pk).update(check_asked_at=Now())

    def note_check(self, *, passed: bool, report: list[dict[str, object]]) -> None:
        """Store the result of a check, unless the credentials were changed while it ran."""
        mine = Credentials.objects.filter(pk=self.pk, changed_at=self.changed_at)
        mine.update(checked_at=Now(), check_passed=passed, check_report=report)
