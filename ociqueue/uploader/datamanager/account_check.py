"""Checks an account for the Data Manager API, with events that Google only validates."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.uploader.connection_test import CheckFinding, check_login
from ociqueue.uploader.datamanager.provider import DataManager
from ociqueue.uploader.googleads.account_check import CUSTOMER, check_terms, conversion_customer, query
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.results import Disposition, RowResult

API, ACTION, OWNER = "Data Manager API", "Conversion action", "Account that owns the conversions"
# Of these Google says nothing about the account.
UNANSWERED = (Disposition.RETRY, Disposition.UNSENT)
OPEN_ACCOUNT = "In Google Ads, open Goals > Conversions > Settings of this account to see which one owns them."


def check_account(account: GoogleAdsAccount, *, accepts_identifiers: bool = False) -> Iterator[CheckFinding]:
    """Yield findings until one makes the rest pointless."""
    provider = DataManager(account)
    login = check_login(provider, account)
    yield login
    if not login.passed:
        return
    is_first = True
    for action, name in sorted(names_by_action(account).items()):
        result = provider.upload([sample_event(name)], dry_run=True)[0]
        if result.disposition in (Disposition.GATE, Disposition.GATE_ALL, *UNANSWERED):
            yield CheckFinding(API, result.message, passed=False)
            break
        if is_first:
            yield CheckFinding(API, f"It is enabled, and this login has access to account {account.customer_id}.")
        is_first = False
        yield check_action(action, result)
    yield from check_customer(account, accepts_identifiers=accepts_identifiers)


def names_by_action(account: GoogleAdsAccount) -> dict[str, str]:
    """Return a conversion name for each action; an unknown name stands for the action of all others."""
    return {account.conversion_action: "", **{action: name for name, action in account.conversion_actions.items()}}


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


def check_action(action: str, result: RowResult) -> CheckFinding:
    number = action.rpartition("/")[2]
    if result.disposition == Disposition.GATE_ACTION:
        return CheckFinding(ACTION, f"{number}: {result.message}", passed=False)
    return CheckFinding(ACTION, f"{number} accepts conversions.")


def check_customer(account: GoogleAdsAccount, *, accepts_identifiers: bool) -> Iterator[CheckFinding]:
    """Check the owner of the conversions, and the terms that hashes need: only the Google Ads API knows them."""
    try:
        customer = next(iter(query(GoogleAds(account), CUSTOMER))).customer
    except Exception:  # noqa: BLE001 - whatever Google's client raises; many logins have no developer token
        yield CheckFinding(OWNER, f"Not checked: the Google Ads API does not answer this login. {OPEN_ACCOUNT}")
        return
    yield check_owner(account, customer)
    if accepts_identifiers:
        yield from check_terms(customer, accepts_identifiers=True)


def check_owner(account: GoogleAdsAccount, customer: Any) -> CheckFinding:
    owner = conversion_customer(customer)
    if owner and owner != account.customer_id:
        why = "the Data Manager API takes conversions only for the account that owns them."
        message = f"Change the customer id from {account.customer_id} to {owner}: {why}"
        return CheckFinding(OWNER, message, passed=False)
    return CheckFinding(OWNER, f"{customer.descriptive_name} ({customer.id})")
