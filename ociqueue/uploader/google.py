"""What Google's two APIs share.

1. The login: an OAuth client's refresh token, or a service account's key; and what Google identifies a row by.
2. What the errors of a reply mean for its rows.
3. How the invalid rows of a request that was rejected as a whole are found: by sending halves of it.

Nothing here imports Google's libraries before it is called, because the web process imports this package.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings

from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.codes.google import Meaning, worst
from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category, Disposition
from ociqueue.uploader.results import CredentialsRejected, Identities, RowResult, change_results

SCOPES = ("https://www.googleapis.com/auth/adwords", "https://www.googleapis.com/auth/datamanager")
LOGIN_TIMEOUT = 20.0
# Login errors that waiting does not fix.
LOGIN_REJECTIONS = ("invalid_grant", "unauthorized_client", "invalid_client", "invalid_scope", "deleted_client")
LONGEST_DELAY = 24 * 60 * 60  # seconds; a probe is sent once a day, whatever delay Google asks for
REFUSED = "REQUEST_REFUSED"  # the code of a row that was in a refused request and was not named
UNPROVEN = "UNPROVEN_ANSWER"


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


class GoogleProvider:
    """A login to one account, for conversions or for adjustments."""

    def __init__(self, account: GoogleAdsAccount) -> None:
        self.account, self.credentials = account, google_credentials(account)

    def refresh(self) -> None:
        """Log in unless the token is still valid; raise CredentialsRejected."""
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request

        if self.credentials.valid:
            return
        try:
            self.credentials.refresh(partial(Request(), timeout=LOGIN_TIMEOUT))
        except GoogleAuthError as error:
            raise login_error(error) from None

    def forget_token(self) -> None:
        """Log in again next time, although the token has not expired yet."""
        self.credentials.token = None
        self.credentials.expiry = None

    def identities(self, row: Uploadable) -> Identities:
        """Return the order id and, of a conversion, the click with its action and time.

        Google rejects conversions that share either. One without a click id is known by its hashes instead.
        """
        order = ("order", row.order_id)
        if not isinstance(row, Conversion):
            return (order,)
        click = row.click_id or (row.hashed_email, row.hashed_phone)
        return order, ("click", click, self.account.action_of(row.action), row.conversion_time.timestamp() // 1)


def login_error(error: Any) -> CredentialsRejected:
    """Distinguish rejected credentials from a login that could not be reached."""
    from google.auth.exceptions import RefreshError

    message = f"{error.args[0] if error.args else error}"
    named = next((name for name in LOGIN_REJECTIONS if name in message), None)
    # Only an answer rejects; a name that does not resolve or a broken connection is temporary.
    if named is None and (error.retryable or not isinstance(error, RefreshError)):
        return CredentialsRejected("LOGIN_UNREACHABLE", joined(sentences.LOGIN_UNREACHABLE, message), is_temporary=True)
    code = (named or "login_refused").upper()
    return CredentialsRejected(code, joined(sentences.LOGIN_REJECTED, message), is_temporary=False)


def login_rejected(rejection: CredentialsRejected, rows: int) -> list[RowResult]:
    """Return results for rows that were not sent because the credentials were rejected during the run."""
    category = Category.TRANSIENT if rejection.is_temporary else Category.AUTH
    return [RowResult(Disposition.GATE, rejection.code, category, str(rejection), whole_request=True)] * rows


@dataclass(frozen=True)
class GoogleError:
    """One error of a reply; `index` is the place of the row that it refers to, `text` has Google's own words."""

    code: str
    meaning: Meaning
    text: str
    index: int | None = None
    retry_after: timedelta | None = None
    everywhere: bool = False

    def refers_to_row(self, rows: int) -> bool:
        return self.index is not None and 0 <= self.index < rows


def errors_by_row(errors: Iterable[GoogleError], rows: int) -> dict[int, list[GoogleError]]:
    by_row: dict[int, list[GoogleError]] = {}
    for error in errors:
        if error.refers_to_row(rows):
            by_row.setdefault(error.index or 0, []).append(error)
    return by_row


def result_of(errors: Sequence[GoogleError], request_id: str) -> RowResult:
    meaning = worst(error.meaning for error in errors)
    return RowResult(
        meaning.disposition,
        next(error.code for error in errors if error.meaning == meaning),
        meaning.category,
        joined(meaning.hint, *(error.text for error in errors[:10])),
        max((error.retry_after for error in errors if error.retry_after), default=meaning.retry_after),
        request_id=request_id,
        everywhere=any(error.everywhere for error in errors),
    )


def refuse_named(errors: Sequence[GoogleError], rows: int, others: RowResult) -> list[RowResult]:
    """Return the results of a refused request that names rows: the others were not validated."""
    named = errors_by_row(errors, rows)
    if not named:
        return []
    results = [result_of(named[at], others.request_id) if at in named else others for at in range(rows)]
    # After an internal error of Google any row may have been applied, whatever row it names.
    lost = any(error.meaning.category == Category.TRANSIENT for error in errors)
    return change_results(results, partial(replace, ambiguous=lost))


def read_delay(seconds: float) -> timedelta | None:
    return timedelta(seconds=min(max(seconds, 0), LONGEST_DELAY)) or None


Send = Callable[[list[Any]], list[RowResult]]
Part = tuple[list[Any], list[RowResult]]

# When each of eight parts is rejected, a row is hardly the cause: then only one part is bisected, down to a single row.
ENOUGH_PARTS = 8


def bisect_rejected(rows: list[Any], send: Send) -> list[RowResult]:
    """Send all rows at once, then halves of what is rejected as a whole, until each row has its own result."""
    parts: list[Part] = [(rows, send(rows))]
    while any(can_be_halved(results) for _, results in parts):
        if len(parts) < ENOUGH_PARTS or any_validated(parts) or any(is_too_large(results) for _, results in parts):
            parts = [smaller for part in parts for smaller in _halves(part, send)]
        elif any(is_rejected(results) and len(results) == 1 for _, results in parts):
            break  # rejected even for a single row: the request itself is the cause
        else:
            at = next(number for number, (_, results) in enumerate(parts) if can_be_halved(results))
            parts = [*parts[:at], *_halves(parts[at], send), *parts[at + 1 :]]
    validated = any_validated(parts)
    every = [result for _, results in parts for result in results]
    return change_results(every, partial(_final, validated=validated))


def any_validated(parts: Sequence[Part]) -> bool:
    """Return whether Google validated the rows of any part; a lost request or a fault of the account proves nothing."""
    return any(not results[0].whole_request for _, results in parts)


def is_rejected(results: Sequence[RowResult]) -> bool:
    """Return whether a request was rejected as a whole: for a row that Google does not name, or for itself."""
    return results[0].whole_request and results[0].disposition == Disposition.FATAL


def is_too_large(results: Sequence[RowResult]) -> bool:
    return len(results) > 1 and results[0].disposition == Disposition.SPLIT


def can_be_halved(results: Sequence[RowResult]) -> bool:
    return is_too_large(results) or (len(results) > 1 and is_rejected(results))


def _halves(part: Part, send: Send) -> Iterator[Part]:
    rows, results = part
    if not can_be_halved(results):
        yield part
        return
    middle = len(rows) // 2
    for half in (rows[:middle], rows[middle:]):
        yield half, send(half)


def _final(result: RowResult, *, validated: bool) -> RowResult:
    """Fail a single row that was rejected while others passed; if none passed, the account is at fault."""
    if result.disposition == Disposition.SPLIT:
        return replace(result, disposition=Disposition.FATAL, whole_request=False)
    if not is_rejected([result]):
        return result
    if validated:
        return replace(result, whole_request=False)
    return replace(result, disposition=Disposition.GATE, category=Category.VALIDATION)
