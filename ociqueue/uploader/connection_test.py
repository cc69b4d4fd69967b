"""Tests a site's credentials: does the login work, do the conversion actions exist, do they accept uploads."""

import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from kilit.access.encryption import DecryptionError
from ociqueue.models import Credentials
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.googleads.responses import reported_errors
from ociqueue.uploader.results import CredentialsRejected

logger = logging.getLogger(__name__)

CUSTOMER = """
    SELECT customer.id, customer.descriptive_name,
      customer.conversion_tracking_setting.google_ads_conversion_customer,
      customer.conversion_tracking_setting.accepted_customer_data_terms
    FROM customer
"""
ACTIONS = """
    SELECT conversion_action.resource_name, conversion_action.name, conversion_action.type, conversion_action.status
    FROM conversion_action
"""


@dataclass(frozen=True)
class CheckFinding:
    what: str
    message: str
    passed: bool = True


def check_requested() -> str:
    requested = Credentials.objects.awaiting_check().select_related("site")
    return f"Checked {len([check(credentials) for credentials in requested])}."


def check(credentials: Credentials) -> list[CheckFinding]:
    try:
        findings = list(check_account(credentials))
    except Exception as error:
        # Stored all the same, or the bell would ring for this check again and again.
        logger.exception("the connection test failed")
        findings = [CheckFinding("The test failed", type(error).__name__, passed=False)]
    passed = all(finding.passed for finding in findings)
    credentials.note_check(passed=passed, report=[asdict(finding) for finding in findings])
    return findings


def check_account(credentials: Credentials) -> Iterator[CheckFinding]:
    """Yield findings until one makes the rest pointless."""
    try:
        provider = GoogleAds(credentials.account())
        provider.refresh()
    except (DecryptionError, CredentialsRejected) as error:
        yield CheckFinding("Login", str(error), passed=False)
        return
    yield CheckFinding("Login", "Google accepts the refresh token.")
    try:
        customer = next(iter(query(provider, CUSTOMER))).customer
        actions = {row.conversion_action.resource_name: row.conversion_action for row in query(provider, ACTIONS)}
    except Exception as error:  # noqa: BLE001 - whatever Google's client raises is the finding
        yield CheckFinding("Customer", describe(error), passed=False)
        return
    yield from check_customer(provider, customer)
    yield from check_actions(provider, actions)


def query(provider: GoogleAds, text: str) -> Any:
    service = provider.client.get_service("GoogleAdsService")
    request = {"customer_id": provider.account.customer_id, "query": text}
    return service.search(request=request, timeout=settings.GOOGLE_ADS_TIMEOUT, retry=None)


def check_customer(provider: GoogleAds, customer: Any) -> Iterator[CheckFinding]:
    yield CheckFinding("Customer", f"{customer.descriptive_name} ({customer.id})")
    setting = customer.conversion_tracking_setting
    owner = setting.google_ads_conversion_customer.removeprefix("customers/")
    if owner and owner != provider.account.customer_id:
        message = f"Upload to {owner}: Google rejects this account's clicks elsewhere."
        yield CheckFinding("Another account owns the conversions", message, passed=False)
    if not setting.accepted_customer_data_terms:
        yield CheckFinding("Customer data terms", "Not accepted; required only for enhanced conversions.")


def check_actions(provider: GoogleAds, actions: dict[str, Any]) -> Iterator[CheckFinding]:
    account, enums = provider.account, provider.client.enums
    accepts_uploads = (enums.ConversionActionTypeEnum.UPLOAD_CLICKS, enums.ConversionActionStatusEnum.ENABLED)
    for resource in sorted({account.conversion_action, *account.conversion_actions.values()}):
        action = actions.get(resource)
        if action is None:
            passed, message = False, f"{resource} is not in this account."
        elif (action.type_, action.status) != accepts_uploads:
            passed, message = False, f"{action.name} must be an enabled action for click imports."
        else:
            passed, message = True, f"{action.name} accepts uploads."
        yield CheckFinding("Conversion action", message, passed)


def describe(error: Exception) -> str:
    failure = getattr(error, "failure", None)
    if failure is None:
        return str(getattr(error, "message", None) or error)[:500]
    errors = reported_errors([failure])
    return " ".join(f"{error.meaning.hint} {error.name}: {error.message}".strip() for error in errors)[:500]
