"""Google's login, which both of its APIs share: an OAuth client's refresh token, or a service account's key.

Nothing here imports Google's libraries before it is called, because the web process imports this package.
"""

import json
from functools import partial
from typing import Any

from django.conf import settings

from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import Category
from ociqueue.uploader.results import CredentialsRejected, Disposition, RowResult

SCOPES = ("https://www.googleapis.com/auth/adwords", "https://www.googleapis.com/auth/datamanager")
LOGIN_TIMEOUT = 20.0
# Login errors that waiting does not fix.
LOGIN_REJECTIONS = ("invalid_grant", "unauthorized_client", "invalid_client", "invalid_scope", "deleted_client")


def google_credentials(account: GoogleAdsAccount) -> Any:
    """Return credentials that log in at our token address, whatever a service account's key says."""
    if account.service_account:
        from google.oauth2 import service_account

        key = {**json.loads(account.service_account), "token_uri": settings.GOOGLE_TOKEN_URI}
        return service_account.Credentials.from_service_account_info(key, scopes=SCOPES)
    from google.oauth2.credentials import Credentials

    # Without scopes: the token gets those that were consented to, and Google says which is missing.
    return Credentials(
        None,
        refresh_token=account.refresh_token,
        client_id=account.client_id,
        client_secret=account.client_secret,
        token_uri=settings.GOOGLE_TOKEN_URI,
    )


def refresh(credentials: Any) -> None:
    """Log in unless the token is still valid; raise CredentialsRejected."""
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    if credentials.valid:
        return
    try:
        credentials.refresh(partial(Request(), timeout=LOGIN_TIMEOUT))
    except GoogleAuthError as error:
        raise login_error(error) from None


def login_error(error: Any) -> CredentialsRejected:
    """Distinguish rejected credentials from a login that could not be reached."""
    from google.auth.exceptions import RefreshError

    message = f"{error.args[0] if error.args else error}"
    named = next((name for name in LOGIN_REJECTIONS if name in message), None)
    # Only an answer rejects; a name that does not resolve or a broken connection is temporary.
    if named is None and (error.retryable or not isinstance(error, RefreshError)):
        return CredentialsRejected(
            "LOGIN_UNREACHABLE", f"Google's login cannot be reached: {message}", is_temporary=True
        )
    code = (named or "login_refused").upper()
    hint = (
        "Google rejects the credentials: create a new refresh token, or a new key of the service account, and store it."
    )
    return CredentialsRejected(code, f"{hint} Google's answer: {message}", is_temporary=False)


def login_rejected(rejection: CredentialsRejected, rows: int) -> list[RowResult]:
    """Return results for rows that were not sent because the credentials were rejected during the run."""
    category = Category.TRANSIENT if rejection.is_temporary else Category.AUTH
    return [RowResult(Disposition.GATE, rejection.code, category, str(rejection), whole_request=True)] * rows
