"""A change of a site's Google login, on its page and by API: what was entered, checked against what is stored.

There are two kinds of login, an OAuth client's and a service account's; storing one removes the other. No fault repeats
a value that is stored.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from kilit.access.encryption import DecryptionError
from kilit.workers import doorbells
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount, normalize_action, normalize_service_account
from ociqueue.operating.senders import UnsettledRows, with_open_rows

REQUIRED = ("customer_id", "conversion_action")
OAUTH = ("client_id", "client_secret", "refresh_token")
SERVICE_ACCOUNT = "service_account"
LONGEST_NAME = 100  # characters of a conversion name
# In the order of the form.
LABELS = {
    "customer_id": gettext_lazy("Customer id"),
    "login_customer_id": gettext_lazy("Login customer id"),
    "client_id": gettext_lazy("OAuth client id"),
    "client_secret": gettext_lazy("OAuth client secret"),
    "refresh_token": gettext_lazy("Refresh token"),
    SERVICE_ACCOUNT: gettext_lazy("Service account"),
    "developer_token": gettext_lazy("Developer token"),
    "conversion_action": gettext_lazy("Conversion action"),
    "conversion_actions": gettext_lazy("Actions by conversion name"),
}
REMOVABLE = tuple(name for name in LABELS if name not in (*REQUIRED, *OAUTH, SERVICE_ACCOUNT))


class LoginChange:
    """`entered` has what is not empty, by the names of GoogleAdsAccount; `faults` get what is wrong, by the same names.

    A name in `known_faults` is not reported again.
    """

    def __init__(
        self,
        stored: Mapping[str, Any],
        entered: Mapping[str, Any],
        removed: Collection[str] = (),
        *,
        is_service_account: bool = False,
        known_faults: Collection[str] = (),
    ) -> None:
        self.stored, self.entered = stored, dict(entered)
        self.removed = [name for name in removed if not self.entered.get(name)]
        self.is_service_account = is_service_account or SERVICE_ACCOUNT in self.entered
        self.known_faults = known_faults
        self.faults: dict[str, str] = {}

    def check(self) -> None:
        """Require what is not stored, and check the actions against their customer."""
        self._read_service_account()
        if self.entered or self.removed or self.known_faults or self.faults:
            for name in (*REQUIRED, *self.login):
                if not self.stored.get(name) and not self.entered.get(name):
                    self._add(name, _("This field is required: no value is stored."))
        if customer := self.entered.get("customer_id"):
            self._check_action(customer)
            self._check_actions(customer)
        elif self.entered.get("conversion_action") or self.entered.get("conversion_actions"):
            # Checked against what was entered, so that no message shows stored values.
            message = _("Enter the customer id as well: conversion actions belong to a customer.")
            self._add("customer_id", message)

    @property
    def is_empty(self) -> bool:
        return not (self.entered or self.removed)

    @property
    def is_move(self) -> bool:
        before, entered = self.stored.get("customer_id"), self.entered.get("customer_id")
        return bool(before and entered and before != entered)

    @property
    def login(self) -> tuple[str, ...]:
        """Return the parts of the kind of login that was entered, or else is stored."""
        if any(self.entered.get(name) for name in OAUTH):
            return OAUTH
        is_service_account = self.is_service_account or self.stored.get(SERVICE_ACCOUNT)
        return (SERVICE_ACCOUNT,) if is_service_account else OAUTH

    def account(self) -> GoogleAdsAccount:
        other = OAUTH if self.login == (SERVICE_ACCOUNT,) else (SERVICE_ACCOUNT,)
        gone = (*self.removed, *other)
        kept = {name: value for name, value in self.stored.items() if name not in gone}
        return GoogleAdsAccount(**{**kept, **self.entered})

    def _add(self, name: str, message: str) -> None:
        if name not in self.known_faults:
            self.faults.setdefault(name, message)

    def _read_service_account(self) -> None:
        text = self.entered.get(SERVICE_ACCOUNT)
        if text and any(self.entered.get(name) for name in OAUTH):
            self._add(SERVICE_ACCOUNT, _("Enter one login: an OAuth client's or a service account's, not both."))
        elif text:
            self._normalize(SERVICE_ACCOUNT, normalize_service_account)

    def _normalize(self, name: str, normalize: Callable[[Any], Any]) -> None:
        try:
            self.entered[name] = normalize(self.entered[name])
        except ValueError as error:
            self._add(name, str(error))

    def _check_action(self, customer: str) -> None:
        if self.entered.get("conversion_action"):
            self._normalize("conversion_action", partial(normalize_action, customer_id=customer))
        elif not _belongs(self.stored.get("conversion_action", ""), customer):
            message = _("The stored action belongs to another customer: enter one of this customer.")
            self._add("conversion_action", message)

    def _check_actions(self, customer: str) -> None:
        if self.entered.get("conversion_actions"):
            self._normalize("conversion_actions", partial(normalize_actions, customer_id=customer))
        elif "conversion_actions" not in self.removed:
            kept = self.stored.get("conversion_actions", {})
            if not all(_belongs(action, customer) for action in kept.values()):
                message = _("The stored actions belong to another customer: enter new ones or remove them.")
                self._add("conversion_actions", message)


@transaction.atomic  # with its record
def store_login(user: Any, site: Site, change: LoginChange, open_rows: UnsettledRows, *, note: str = "") -> None:
    Credentials.objects.store(site, change.account())
    with override(None):  # the log is read in other languages, too
        record = [describe(change)]
    if change.is_move:
        # Their last digits tell accounts apart; stored values are not shown again.
        before, after = change.stored["customer_id"][-4:], change.entered["customer_id"][-4:]
        moved = f"Moved from the Google account that ends in {before} to the one that ends in {after}"
        record.append(with_open_rows(moved, open_rows))
    for text in record:
        LogEntry.objects.log_actions(user.pk, [site], CHANGE, text + note)
    # Storing makes the next probe due, and a test that was requested before.
    doorbells.ring("oci_upload")
    doorbells.ring("oci_check_credentials")


def describe(change: LoginChange) -> str:
    parts = [str(label).lower() for name, label in LABELS.items() if change.entered.get(name)]
    parts += [_("%(part)s removed") % {"part": str(LABELS[name]).lower()} for name in change.removed]
    return _("Stored credentials: %(parts)s.") % {"parts": ", ".join(parts)}


def stored_login(credentials: Credentials | None) -> tuple[GoogleAdsAccount | None, str]:
    """Return what is stored, or why it cannot be read: then everything has to be entered again."""
    try:
        return (credentials.account(), "") if credentials else (None, "")
    except DecryptionError as error:
        return None, str(error)


def stored_parts(account: GoogleAdsAccount) -> dict[str, bool]:
    unused = OAUTH if account.service_account else (SERVICE_ACCOUNT,)
    return {name: bool(getattr(account, name)) for name in LABELS if name not in unused}


def request_test(site: Site) -> bool:
    """Ask a worker to test the stored login; return whether there is one."""
    credentials = Credentials.objects.filter(site=site).first()
    if credentials is None:
        return False
    credentials.request_check()
    doorbells.ring("oci_check_credentials")
    return True


def normalize_actions(actions: Mapping[str, str], *, customer_id: str) -> dict[str, str]:
    """Return the resource name of each conversion name's action; ValueError names the one that is invalid."""
    normal = {}
    for name, action in actions.items():
        try:
            normal[name] = normalize_action(action, customer_id=customer_id)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return normal


def _belongs(action: str, customer: str) -> bool:
    return not action or action.startswith(f"customers/{customer}/")


def read_actions(text: str, *, customer_id: str) -> dict[str, str]:
    """Return the action of each conversion name; ValueError names the invalid line."""
    actions: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A conversion name may contain an equals sign; an action never does.
        name, separator, action = line.rpartition("=")
        name = name.strip()
        if not separator or not name:
            message = _("Line %(number)s: write conversion name = action, as in Teklif = 987654.")
            raise ValueError(message % {"number": number})
        if len(name) > LONGEST_NAME:
            message = _("Line %(number)s: a conversion name has at most %(most)s characters.")
            raise ValueError(message % {"number": number, "most": LONGEST_NAME})
        if name in actions:
            message = _("Line %(number)s: %(name)s already has an action.")
            raise ValueError(message % {"number": number, "name": name})
        try:
            actions[name] = normalize_action(action, customer_id=customer_id)
        except ValueError as error:
            message = _("Line %(number)s: %(error)s") % {"number": number, "error": error}
            raise ValueError(message) from None
    return actions
