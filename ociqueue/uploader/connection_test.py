"""Checks a login the way an operator would: can we get in, is the action there, will Google take uploads."""

import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from ociqueue.models import Credentials
from ociqueue.models.encryption import Unreadable
from ociqueue.uploader.googleads import GoogleAds
from ociqueue.uploader.responses import faults_of
from ociqueue.uploader.results import CredentialsRefused

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
class Finding:
    """One thing that was looked at."""

    passed: bool
    what: str
    words: str = ""


def check_asked() -> str:
    """Check every login that somebody asked for."""
    checked = 0
    for credentials in Credentials.objects.to_check().select_related("site"):
        check(credentials)
        checked += 1
    return f"Checked {checked}."


def check(credentials: Credentials) -> list[Finding]:
    """Look at one login and keep what was found."""
    try:
        findings = list(look(credentials))
    except Exception as error:
        # Noted all the same, or the bell would ask for it for ever.
        logger.exception("the check of a login broke off")
        findings = [Finding(passed=False, what="The check broke off", words=type(error).__name__)]
    passed = all(finding.passed for finding in findings)
    credentials.note_check(passed=passed, report=[asdict(finding) for finding in findings])
    return findings


def look(credentials: Credentials) -> Iterator[Finding]:
    """Return findings until one makes the rest pointless."""
    try:
        provider = GoogleAds(credentials.account())
        provider.refresh()
    except (Unreadable, CredentialsRefused) as refusal:
        yield Finding(passed=False, what="Login", words=str(refusal))
        return
    yield Finding(passed=True, what="Login", words="Google accepts the refresh token.")
    try:
        customer = next(iter(ask(provider, CUSTOMER))).customer
        actions = {row.conversion_action.resource_name: row.conversion_action for row in ask(provider, ACTIONS)}
    except Exception as error:  # noqa: BLE001 - whatever Google throws is the finding
        yield Finding(passed=False, what="Customer", words=words_of(error))
        return
    yield from about_customer(provider, customer)
    yield from about_actions(provider, actions)


def ask(provider: GoogleAds, query: str) -> Any:
    """Ask the account in Google's query language."""
    service = provider.client.get_service("GoogleAdsService")
    return service.search(
        request={"customer_id": provider.account.customer_id, "query": query},
        timeout=settings.GOOGLE_ADS_TIMEOUT,
        retry=None,
    )


def about_customer(provider: GoogleAds, customer: Any) -> Iterator[Finding]:
    """Tell whether this is the account that owns the conversions."""
    yield Finding(passed=True, what="Customer", words=f"{customer.descriptive_name} ({customer.id})")
    setting = customer.conversion_tracking_setting
    owner = setting.google_ads_conversion_customer.removeprefix("customers/")
    if owner and owner != provider.account.customer_id:
        yield Finding(
            passed=False,
            what="Conversions are counted by another account",
            words=f"Upload to {owner}: Google refuses clicks of this account elsewhere.",
        )
    if not setting.accepted_customer_data_terms:
        yield Finding(
            passed=True, what="Customer data terms", words="Not accepted; needed only for enhanced conversions."
        )


def about_actions(provider: GoogleAds, actions: dict[str, Any]) -> Iterator[Finding]:
    """Tell whether each conversion action is there and takes uploads."""
    account = provider.account
    enums = provider.client.enums
    takes_uploads = (enums.ConversionActionTypeEnum.UPLOAD_CLICKS, enums.ConversionActionStatusEnum.ENABLED)
    for resource in sorted({account.conversion_action, *account.conversion_actions.values()}):
        action = actions.get(resource)
        if action is None:
            yield Finding(passed=False, what="Conversion action", words=f"{resource} is not in this account.")
        elif (action.type_, action.status) != takes_uploads:
            words = f"{action.name} must be an enabled action for imports of clicks."
            yield Finding(passed=False, what="Conversion action", words=words)
        else:
            yield Finding(passed=True, what="Conversion action", words=f"{action.name} takes uploads.")


def words_of(error: Exception) -> str:
    """Return what Google said, in its own words and those of our table."""
    failure = getattr(error, "failure", None)
    if failure is None:
        return str(getattr(error, "message", None) or error)[:500]
    said = [
        " ".join(filter(None, (fault.meaning.hint, f"{fault.name}: {fault.message}"))) for fault in faults_of([failure])
    ]
    return " ".join(said)[:500]
