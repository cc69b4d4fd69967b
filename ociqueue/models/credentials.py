"""A site's Google Ads credentials: stored encrypted and never shown."""

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
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
    """Return the customer id to store for a site; ValueError if it is not one, or its credentials have another."""
    digits = normalize_customer_id(text) if text.strip() else ""
    stored = Credentials.objects.filter(site=site.pk).first()
    with suppress(DecryptionError):
        customer = stored.account().customer_id if stored else digits
        if digits and digits != customer:
            message = gettext("The site's Google credentials are for customer %(customer)s; change it there.")
            raise ValueError(message % {"customer": customer})
        return customer
    return digits


def normalize_action(text: str, *, customer_id: str) -> str:
    """Return the resource name of a conversion action, given by name or number; ValueError if it is not one."""
    text = text.strip()
    resource = f"customers/{customer_id}/conversionActions/{text}" if text.isascii() and text.isdigit() else text
    match = ACTION.fullmatch(resource)
    if not match:
        message = gettext(
            "Enter the number of a conversion action, or customers/%(customer)s/conversionActions/NUMBER."
        )
        raise ValueError(message % {"customer": customer_id})
    if match[1] != customer_id:
        message = gettext("This conversion action belongs to customer %(other)s, but uploads go to %(customer)s.")
        raise ValueError(message % {"other": match[1], "customer": customer_id})
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
        unchanged = Credentials.objects.filter(pk=self.pk, changed_at=self.changed_at)
        unchanged.update(checked_at=Now(), check_passed=passed, check_report=report)


# Without `token_uri`: the author of a file must not choose where we post a signed login.
KEPT = ("type", "project_id", "private_key_id", "private_key", "client_email")
REQUIRED = ("client_email", "private_key", "project_id")
LONGEST = 20_000
EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")


def normalize_service_account(text: str) -> str:
    """Return the parts of a service account's JSON that a login needs; ValueError if it is not one."""
    try:
        key = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, dict):
        raise ValueError(gettext("Paste the whole JSON file that Google created for the service account's key."))  # noqa: TRY004 - a form shows it
    if key.get("type") != "service_account":
        raise ValueError(gettext("This JSON is not the key of a service account: its type must be service_account."))
    for name in REQUIRED:
        if not isinstance(key.get(name), str) or not key[name].strip():
            raise ValueError(gettext("The service account's JSON has no %(name)s.") % {"name": name})
    if not EMAIL.fullmatch(key["client_email"]):
        raise ValueError(gettext("The client_email of the service account is not an e-mail address."))
    if not _is_rsa_key(key["private_key"]):
        raise ValueError(
            gettext("The private_key of the service account cannot be read: create a new key and paste it.")
        )
    return json.dumps({name: key[name] for name in KEPT if isinstance(key.get(name), str)})


def _is_rsa_key(text: str) -> bool:
    try:
        return isinstance(load_pem_private_key(text.encode(), password=None), RSAPrivateKey)
    except Exception:  # noqa: BLE001 - of several libraries; the text is a person's
        return False
