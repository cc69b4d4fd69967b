"""A site's login at Google Ads: stored sealed, written and never shown."""

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from ociqueue.models.circuit import Circuit
from ociqueue.models.encryption import Unreadable, reseal, seal, unseal
from ociqueue.models.site import Site

CUSTOMER = re.compile(r"[0-9]{10}")
ACTION = re.compile(r"customers/([0-9]{10})/conversionActions/[0-9]+")


@dataclass(frozen=True)
class Account:
    """What it takes to upload for a site; nothing of it is ever printed."""

    customer_id: str
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    refresh_token: str = field(repr=False)
    conversion_action: str
    login_customer_id: str = ""
    developer_token: str = field(repr=False, default="")
    conversion_actions: dict[str, str] = field(default_factory=dict)

    def action_of(self, conversion_name: str) -> str:
        """Return the resource that conversions of a name are counted under."""
        return self.conversion_actions.get(conversion_name, self.conversion_action)


def spoken_customer(text: str) -> str:
    """Return a customer id without its dashes; ValueError when it is none."""
    digits = text.replace("-", "").strip()
    if not CUSTOMER.fullmatch(digits):
        raise ValueError(gettext("A customer id has ten digits, as in 123-456-7890."))
    return digits


def spoken_action(text: str, *, customer_id: str) -> str:
    """Return the resource name of a conversion action given by it or by its number; ValueError when it is none."""
    text = text.strip()
    resource = f"customers/{customer_id}/conversionActions/{text}" if text.isascii() and text.isdigit() else text
    found = ACTION.fullmatch(resource)
    if not found:
        words = gettext("A conversion action is a number, or customers/%(customer)s/conversionActions/ and a number.")
        raise ValueError(words % {"customer": customer_id})
    if found[1] != customer_id:
        words = gettext("This conversion action is of customer %(other)s; uploads go to %(customer)s.")
        raise ValueError(words % {"other": found[1], "customer": customer_id})
    return resource


class CredentialsQuerySet(models.QuerySet["Credentials"]):
    """Questions about logins, and their verbs."""

    def store(self, site: Site, account: Account) -> "Credentials":
        """Keep a login, and let the next probe try it at once."""
        with transaction.atomic():
            kept, _ = self.update_or_create(
                site=site,
                defaults={
                    "sealed": seal(json.dumps(asdict(account))),
                    "changed_at": Now(),
                    "checked_at": None,
                    "check_passed": None,
                    "check_report": [],
                },
            )
            Circuit.objects.filter(site=site).probe_now()
        return kept

    def reseal(self) -> int:
        """Seal every login under the first key; return how many."""
        resealed = 0
        with transaction.atomic():
            for kept in self.select_for_update().order_by("pk"):
                kept.sealed = reseal(kept.sealed)
                kept.save(update_fields=["sealed"])
                resealed += 1
        return resealed

    def to_check(self) -> "CredentialsQuerySet":
        """Return logins that somebody wants checked, and nobody has since."""
        return self.filter(Q(checked_at=None) | Q(checked_at__lt=F("check_asked_at")), check_asked_at__isnull=False)


class Credentials(models.Model):
    """A sealed login, and what the last check of it said."""

    site = models.OneToOneField(Site, on_delete=models.CASCADE, related_name="credentials")
    sealed = models.TextField(editable=False)
    changed_at = models.DateTimeField(db_default=Now(), editable=False)
    check_asked_at = models.DateTimeField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    check_passed = models.BooleanField(null=True, editable=False)
    check_report = models.JSONField(default=list, editable=False)

    objects = CredentialsQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name_plural = "credentials"

    def __str__(self) -> str:
        return f"credentials of {self.site}"

    def account(self) -> Account:
        """Return the login; Unreadable when no key at hand opens it."""
        return Account(**json.loads(unseal(self.sealed)))

    def is_readable(self) -> bool:
        """Tell whether a key at hand opens the login."""
        try:
            unseal(self.sealed)
        except Unreadable:
            return False
        return True

    def ask_for_check(self) -> None:
        """Let a worker try the login: the web process never talks to Google."""
        Credentials.objects.filter(pk=self.pk).update(check_asked_at=Now())

    def note_check(self, *, passed: bool, report: list[dict[str, Any]]) -> None:
        """Keep what a check said, unless the login was changed while it was checked."""
        mine = Credentials.objects.filter(pk=self.pk, changed_at=self.changed_at)
        mine.update(checked_at=Now(), check_passed=passed, check_report=report)
