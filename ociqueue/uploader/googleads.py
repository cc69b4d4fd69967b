"""Google Ads behind the provider's interface; the client is imported by workers only: it takes a second and 100 MB."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Hashable, Sequence
from datetime import UTC
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from django.conf import settings

from ociqueue.uploader import bisect_rejected, responses
from ociqueue.uploader.results import CredentialsRefused, Outcome

if TYPE_CHECKING:
    from ociqueue.models import Conversion
    from ociqueue.models.credentials import Account

VERSION = "v26"
MOST_ROWS = 2000  # that Google takes in one request
SHORTEST_CALL = 0.5  # seconds
LOGIN_TIMEOUT = 20.0
TOKEN_EXPIRED = "OAUTH_TOKEN_EXPIRED"  # noqa: S105 - an error code


@cache
def load_client() -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # or it tells of every process that a worker starts
    from google.ads.googleads import client  # noqa: F401, PLC0415

    # It stays for good: without this the collector would walk all of it several times a batch.
    gc.collect()
    gc.freeze()


class GoogleAds:
    def __init__(self, account: Account) -> None:
        load_client()
        from google.ads.googleads.client import GoogleAdsClient  # noqa: PLC0415
        from google.oauth2.credentials import Credentials  # noqa: PLC0415

        self.account = account
        # Built by hand: the client's own loaders log in over the network at once, and elsewhere than we say.
        self.login = Credentials(  # type: ignore[no-untyped-call]
            None,
            refresh_token=account.refresh_token,
            client_id=account.client_id,
            client_secret=account.client_secret,
            token_uri=settings.GOOGLE_TOKEN_URI,
        )
        self.client = GoogleAdsClient(
            credentials=self.login,
            developer_token=account.developer_token or None,
            endpoint=settings.GOOGLE_ADS_ENDPOINT or None,
            login_customer_id=account.login_customer_id or None,
            version=VERSION,
            use_proto_plus=False,  # twenty times faster to build, and unknown enum values stay numbers
        )
        self._request_ids = request_ids()
        self._service: Any = None

    def refresh(self) -> None:
        """Log in: a revoked login is known before rows are claimed, and not taken for an outage later."""
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from google.auth.transport.requests import Request  # noqa: PLC0415

        if self.login.valid:
            return
        try:
            self.login.refresh(partial(Request(), timeout=LOGIN_TIMEOUT))  # type: ignore[no-untyped-call]
        except GoogleAuthError as error:
            raise refused_login(error) from None

    def upload(self, batch: Sequence[Conversion], *, dry_run: bool) -> list[Outcome]:
        """Send rows in one request, or in parts when Google wants less or does not say which row it minds."""
        # All requests of a batch end by then: a task has time to settle, and no sweep thinks that the uploader is dead.
        end = time.monotonic() + settings.GOOGLE_ADS_TIMEOUT
        return bisect_rejected.settled(list(batch), lambda rows: self._request(rows, dry_run=dry_run, end=end))

    def alike(self, row: Conversion) -> set[tuple[Hashable, ...]]:
        """Return what Google knows a row by: of rows that share any of it in one request it would take none."""
        return {
            ("order", row.order_id),
            ("click", row.click_id, self.account.action_of(row.action), row.conversion_time.timestamp() // 1),
        }

    def _request(self, rows: list[Conversion], *, dry_run: bool, end: float, again: bool = True) -> list[Outcome]:
        """Ask Google once; whatever comes back becomes an outcome for each row."""
        from google.ads.googleads.errors import GoogleAdsException  # noqa: PLC0415
        from google.api_core.exceptions import GoogleAPICallError  # noqa: PLC0415
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

        left = end - time.monotonic()
        if left < SHORTEST_CALL:
            return responses.no_time_left(len(rows))
        request = self.build(rows, dry_run=dry_run)
        try:
            response = self.service().upload_click_conversions(request=request, timeout=left, retry=None)
        except GoogleAdsException as error:
            told = responses.refused_request(error.failure, len(rows), request_id=error.request_id or "")
        except GoogleAPICallError as error:
            told = responses.broken_request(error, len(rows))
        except GoogleAuthError as error:
            return responses.locked_out(refused_login(error), len(rows))
        else:
            return responses.answered(response, len(rows), request_id=self._request_ids.last, dry_run=dry_run)
        if again and told[0].code == TOKEN_EXPIRED:
            # Nothing was applied, and a fresh token may be all it takes.
            self.login.expiry = None
            self.login.token = None
            return self._request(rows, dry_run=dry_run, end=end, again=False)
        return told

    def build(self, rows: Sequence[Conversion], *, dry_run: bool) -> Any:
        """Return the request: the same rows make the same bytes, however often they are sent."""
        request = self.client.get_type("UploadClickConversionsRequest")
        request.customer_id = self.account.customer_id
        request.partial_failure = True
        request.validate_only = dry_run
        consents = self.client.enums.ConsentStatusEnum
        for row in rows:
            conversion = request.conversions.add()
            setattr(conversion, *_click_id(row))
            conversion.conversion_action = self.account.action_of(row.action)
            conversion.conversion_date_time = _spoken_time(row)
            conversion.conversion_value = float(row.value)
            conversion.currency_code = row.currency
            conversion.order_id = row.order_id
            if row.consent != row.Consent.UNSPECIFIED:
                conversion.consent.ad_user_data = conversion.consent.ad_personalization = getattr(consents, row.consent)
        return request

    def service(self) -> Any:
        """Return the upload service, on one connection for the life of this object."""
        self._service = self._service or self.client.get_service(
            "ConversionUploadService", interceptors=[self._request_ids]
        )
        return self._service


def refused_login(error: Any) -> CredentialsRefused:
    """Tell a login that Google refuses from one that could not be asked."""
    from google.auth.exceptions import RefreshError  # noqa: PLC0415

    words = f"{error.args[0] if error.args else error}"
    named = next((refusal for refusal in responses.LOGIN_REFUSALS if refusal in words), None)
    # Only an answer refuses: an address that is not found, or a wire that breaks, passes.
    if named is None and (error.retryable or not isinstance(error, RefreshError)):
        return CredentialsRefused("LOGIN_UNREACHABLE", f"Google's login cannot be reached: {words}", passing=True)
    code = (named or "login_refused").upper()
    hint = "Google does not accept the login: make a new refresh token and store it in the credentials."
    return CredentialsRefused(code, f"{hint} It said: {words}", passing=False)


def request_ids() -> Any:
    """Return an interceptor that keeps the id of the last request: support asks for it, and answers do not hold it."""
    import grpc  # noqa: PLC0415

    class RequestIds(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        last = ""

        def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            self.last = ""
            call = continuation(details, request)
            told = dict([*(call.initial_metadata() or ()), *(call.trailing_metadata() or ())])
            self.last = str(told.get("request-id", ""))[:64]
            return call

    return RequestIds()


def _spoken_time(row: Conversion) -> str:
    # In UTC: the site's zone may be changed between two attempts.
    return row.conversion_time.astimezone(UTC).isoformat(" ", "seconds")


def _click_id(row: Conversion) -> tuple[str, str]:
    return next((name, getattr(row, name)) for name in row.CLICK_IDS if getattr(row, name))
