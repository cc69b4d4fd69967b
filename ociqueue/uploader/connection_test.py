"""Tests a site's credentials by what its sender needs. Only a worker loads the modules that call Google."""

import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from kilit.access.encryption import DecryptionError
from ociqueue.models import Credentials
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import SyncMethod
from ociqueue.uploader.results import CredentialsRejected, Provider

logger = logging.getLogger(__name__)


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
    from ociqueue.uploader.datamanager import account_check as data_manager  # noqa: PLC0415 - they import this
    from ociqueue.uploader.googleads import account_check as google_ads  # noqa: PLC0415 - they import this

    try:
        account = credentials.account()
    except DecryptionError as error:
        yield CheckFinding("Login", str(error), passed=False)
        return
    accepts = credentials.site.accepts_identifiers
    if credentials.site.sync_method == SyncMethod.DATA_MANAGER:
        yield from data_manager.check_account(account, accepts_identifiers=accepts)
    else:
        yield from google_ads.check_account(account, accepts_identifiers=accepts)


def check_login(provider: Provider, account: GoogleAdsAccount) -> CheckFinding:
    try:
        provider.refresh()
    except CredentialsRejected as error:
        return CheckFinding("Login", str(error), passed=False)
    login = f"the key of {account.service_account_email}" if account.service_account else "the refresh token"
    return CheckFinding("Login", f"Google accepts {login}.")
