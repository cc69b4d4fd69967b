"""Tests a site's credentials by what its sender needs.

The Google Ads API is asked whether the conversion actions exist and accept uploads; the Data Manager API gets events
that it only validates.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from kilit.access.encryption import DecryptionError
from kilit.lock.text import storable
from kilit.sentences import joined
from ociqueue.models import Conversion, Credentials
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import Disposition, SyncMethod
from ociqueue.uploader import findings
from ociqueue.uploader.datamanager.provider import DataManager
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.googleads.responses import describe_failure
from ociqueue.uploader.results import CredentialsRejected

logger = logging.getLogger(__name__)

CUSTOMER = """
    SELECT customer.id, customer.descriptive_name,
      customer.conversion_tracking_setting.google_ads_conversion_customer,
      customer.conversion_tracking_setting.accepted_customer_data_terms,
      customer.conversion_tracking_setting.effective_enablement_setting
    FROM customer
"""
# EnhancedConversionsConfig. Up to v25 it was the field enhanced_conversions_for_leads_enabled, which v26 does not have:
# a query for it would be refused as a whole.
OFF, ON = 2, 3
ACTIONS = """
    SELECT conversion_action.resource_name, conversion_action.name, conversion_action.type, conversion_action.status
    FROM conversion_action
"""
# With these results Google says nothing about the account.
UNANSWERED = (Disposition.RETRY, Disposition.UNSENT)


@dataclass(frozen=True)
class CheckFinding:
    what: str
    message: str
    passed: bool = True

    def stored(self) -> dict[str, object]:
        return {"what": storable(self.what), "message": storable(self.message), "passed": self.passed}


def check_requested() -> str:
    requested = Credentials.objects.awaiting_check().select_related("site")
    return f"Checked {len([check(credentials) for credentials in requested])}."


def check(credentials: Credentials) -> list[CheckFinding]:
    try:
        report = list(check_account(credentials))
    except Exception as error:
        # Stored all the same, or the bell would ring for this check again and again.
        logger.exception("the connection test failed")
        report = [CheckFinding(findings.FAILED, type(error).__name__, passed=False)]
    passed = all(finding.passed for finding in report)
    credentials.note_check(passed=passed, report=[finding.stored() for finding in report])
    return report


def check_account(credentials: Credentials) -> Iterator[CheckFinding]:
    try:
        account = credentials.account()
    except DecryptionError as error:
        yield CheckFinding(findings.LOGIN, str(error), passed=False)
        return
    is_data_manager = credentials.site.sync_method == SyncMethod.DATA_MANAGER
    provider = DataManager(account) if is_data_manager else GoogleAds(account)
    try:
        provider.refresh()
    except CredentialsRejected as error:
        yield CheckFinding(findings.LOGIN, str(error), passed=False)
        return
    by_key = findings.ACCEPTS_KEY % {"email": account.service_account_email}
    yield CheckFinding(findings.LOGIN, by_key if account.service_account else findings.ACCEPTS_TOKEN)
    accepts_identifiers = credentials.site.accepts_identifiers
    if isinstance(provider, DataManager):
        yield from check_data_manager(provider)
        yield from check_customer(account, accepts_identifiers=accepts_identifiers)
    else:
        yield from check_google_ads(provider, accepts_identifiers=accepts_identifiers)


def check_google_ads(provider: GoogleAds, *, accepts_identifiers: bool) -> Iterator[CheckFinding]:
    try:
        customer = next(iter(provider.query(CUSTOMER))).customer
        actions = {row.conversion_action.resource_name: row.conversion_action for row in provider.query(ACTIONS)}
    except Exception as error:  # noqa: BLE001 - whatever Google's client raises is the finding
        yield CheckFinding(findings.CUSTOMER, describe_failure(error), passed=False)
        return
    yield CheckFinding(findings.CUSTOMER, f"{customer.descriptive_name} ({customer.id})")
    if owner := other_owner(provider.account, customer):
        yield CheckFinding(findings.OTHER_OWNER, findings.UPLOAD_TO % {"owner": owner}, passed=False)
    yield from check_terms(customer, accepts_identifiers=accepts_identifiers)
    yield from check_actions(provider, actions)


def other_owner(account: GoogleAdsAccount, customer: Any) -> str:
    """Return the customer that owns the account's conversions, if it is another one."""
    owner: str = customer.conversion_tracking_setting.google_ads_conversion_customer.removeprefix("customers/")
    return owner if owner != account.customer_id else ""


def check_terms(customer: Any, *, accepts_identifiers: bool) -> Iterator[CheckFinding]:
    """Compare what the account allows with what the site accepts: Google takes hashes either way, and ignores them."""
    setting = customer.conversion_tracking_setting
    if not accepts_identifiers:
        if not setting.accepted_customer_data_terms:
            yield CheckFinding(findings.TERMS, findings.NOT_REQUIRED)
        return
    if not setting.accepted_customer_data_terms:
        yield CheckFinding(findings.TERMS, findings.ACCEPT_TERMS, passed=False)
    if setting.effective_enablement_setting == OFF:
        yield CheckFinding(findings.ENHANCED, findings.TURN_ON, passed=False)
    elif setting.effective_enablement_setting == ON:
        yield CheckFinding(findings.ENHANCED, findings.TURNED_ON)
    else:
        yield CheckFinding(findings.ENHANCED, findings.LOOK)


def check_actions(provider: GoogleAds, actions: dict[str, Any]) -> Iterator[CheckFinding]:
    account, enums = provider.account, provider.client.enums
    accepts_uploads = (enums.ConversionActionTypeEnum.UPLOAD_CLICKS, enums.ConversionActionStatusEnum.ENABLED)
    for resource in sorted({account.conversion_action, *account.conversion_actions.values()}):
        action = actions.get(resource)
        if action is None:
            passed, message = False, findings.NOT_IN_ACCOUNT % {"action": resource}
        elif (action.type_, action.status) != accepts_uploads:
            passed, message = False, findings.NOT_FOR_CLICKS % {"action": action.name}
        else:
            passed, message = True, findings.ACCEPTS_UPLOADS % {"action": action.name}
        yield CheckFinding(findings.ACTION, message, passed)


def check_data_manager(provider: DataManager) -> Iterator[CheckFinding]:
    account = provider.account
    # An unknown name stands for the action of all others.
    names = {account.conversion_action: "", **{action: name for name, action in account.conversion_actions.items()}}
    for place, (action, name) in enumerate(sorted(names.items())):
        result = provider.upload([sample_event(name)], dry_run=True)[0]
        if result.disposition in (Disposition.GATE, Disposition.GATE_ALL, *UNANSWERED):
            yield CheckFinding(findings.API, result.message, passed=False)
            return
        if place == 0:
            yield CheckFinding(findings.API, findings.HAS_ACCESS % {"account": account.customer_id})
        passed = result.disposition != Disposition.GATE_ACTION
        number = action.rpartition("/")[2]
        accepts = findings.ACCEPTS_CONVERSIONS % {"action": number}
        yield CheckFinding(findings.ACTION, accepts if passed else joined(f"{number}:", result.message), passed)


def sample_event(name: str) -> Conversion:
    """Return an event of a click that does not exist: an answer about the event shows that its destination works."""
    return Conversion(
        action=name,
        gclid="connection-test",
        conversion_time=datetime.now(UTC) - timedelta(hours=1),
        value=Decimal(0),
        currency="USD",
        order_id="kilit_connection_test",
        send_alone=True,
    )


def check_customer(account: GoogleAdsAccount, *, accepts_identifiers: bool) -> Iterator[CheckFinding]:
    """Check the owner of the conversions, and the terms that hashes need: only the Google Ads API knows them."""
    try:
        customer = next(iter(GoogleAds(account).query(CUSTOMER))).customer
    except Exception:  # noqa: BLE001 - whatever Google's client raises; many logins have no developer token
        yield CheckFinding(findings.OWNER, findings.NOT_CHECKED)
        return
    if owner := other_owner(account, customer):
        values = {"account": account.customer_id, "owner": owner}
        yield CheckFinding(findings.OWNER, findings.CHANGE_CUSTOMER % values, passed=False)
    else:
        yield CheckFinding(findings.OWNER, f"{customer.descriptive_name} ({customer.id})")
    if accepts_identifiers:
        yield from check_terms(customer, accepts_identifiers=True)
