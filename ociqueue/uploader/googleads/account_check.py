"""Checks an account for the Google Ads API: do the conversion actions exist, do they accept uploads."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings

from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.uploader.connection_test import CheckFinding, check_login
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.googleads.responses import reported_errors

CUSTOMER = """
    SELECT customer.id, customer.descriptive_name,
      customer.conversion_tracking_setting.google_ads_conversion_customer,
      customer.conversion_tracking_setting.accepted_customer_data_terms,
      customer.conversion_tracking_setting.effective_enablement_setting
    FROM customer
"""
TERMS, ENHANCED = "Customer data terms", "Enhanced conversions"
# EnhancedConversionsConfig. Up to v25 it was the field enhanced_conversions_for_leads_enabled, which v26 does not have:
# a query for it would be refused as a whole.
OFF, ON = 2, 3
HASHES_NEED = (
    "in Google Ads under Goals > Conversions > Settings. Without that Google uses no hashed e-mail or phone, which this"
    " site accepts."
)
ACTIONS = """
    SELECT conversion_action.resource_name, conversion_action.name, conversion_action.type, conversion_action.status
    FROM conversion_action
"""


def check_account(account: GoogleAdsAccount, *, accepts_identifiers: bool = False) -> Iterator[CheckFinding]:
    provider = GoogleAds(account)
    login = check_login(provider, account)
    yield login
    if not login.passed:
        return
    try:
        customer = next(iter(query(provider, CUSTOMER))).customer
        actions = {row.conversion_action.resource_name: row.conversion_action for row in query(provider, ACTIONS)}
    except Exception as error:  # noqa: BLE001 - whatever Google's client raises is the finding
        yield CheckFinding("Customer", describe(error), passed=False)
        return
    yield from check_customer(provider, customer)
    yield from check_terms(customer, accepts_identifiers=accepts_identifiers)
    yield from check_actions(provider, actions)


def query(provider: GoogleAds, text: str) -> Any:
    service = provider.client.get_service("GoogleAdsService")
    request = {"customer_id": provider.account.customer_id, "query": text}
    return service.search(request=request, timeout=settings.GOOGLE_ADS_TIMEOUT, retry=None)


def check_customer(provider: GoogleAds, customer: Any) -> Iterator[CheckFinding]:
    yield CheckFinding("Customer", f"{customer.descriptive_name} ({customer.id})")
    owner = conversion_customer(customer)
    if owner and owner != provider.account.customer_id:
        message = f"Upload to {owner}: Google rejects this account's clicks elsewhere."
        yield CheckFinding("Another account owns the conversions", message, passed=False)


def check_terms(customer: Any, *, accepts_identifiers: bool) -> Iterator[CheckFinding]:
    """Compare what the account allows with what the site accepts: Google takes hashes either way, and ignores them."""
    setting = customer.conversion_tracking_setting
    if not accepts_identifiers:
        if not setting.accepted_customer_data_terms:
            yield CheckFinding(TERMS, "Not accepted; required only for enhanced conversions.")
        return
    if not setting.accepted_customer_data_terms:
        yield CheckFinding(TERMS, f"Not accepted: accept them, {HASHES_NEED}", passed=False)
    if setting.effective_enablement_setting == OFF:
        yield CheckFinding(ENHANCED, f"Turned off: turn them on, {HASHES_NEED}", passed=False)
    elif setting.effective_enablement_setting == ON:
        yield CheckFinding(ENHANCED, "Turned on.")
    else:
        yield CheckFinding(ENHANCED, f"Google does not say whether they are turned on: look, {HASHES_NEED}")


def conversion_customer(customer: Any) -> str:
    """Return the id of the account that owns the conversions of this one."""
    owner: str = customer.conversion_tracking_setting.google_ads_conversion_customer
    return owner.removeprefix("customers/")


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
