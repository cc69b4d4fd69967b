"""Google Ads behind the provider's interface; the client is imported by workers only: it takes a second and 100 MB."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings

from ociqueue.states import Category
from ociqueue.uploader import reading
from ociqueue.uploader.outcome import CredentialsRefused, Disposition, Outcome

if TYPE_CHECKING:
    from ociqueue.models import Conversion
    from ociqueue.models.credentials import Account

VERSION = "v26"
MOST_ROWS = 2000  # that Google takes in one request
SHORTEST_CALL = 0.5  # seconds
LOGIN_TIMEOUT = 20.0


class GoogleAds:
    """Uploads for one account."""

    def __init__(self, account: Account) -> None:
        """Make ready; nothing is asked of Google yet."""
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # or it tells of every process that a worker starts
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
        """Send rows in one request, or in halves when Google wants less or does not say which row it minds."""
        # All requests of a batch end by then: a task has time to settle, and no sweep thinks that the uploader is dead.
        end = time.monotonic() + settings.GOOGLE_ADS_TIMEOUT
        rows = list(batch)
        return self._halved(rows, self._request(rows, dry_run=dry_run, end=end), dry_run=dry_run, end=end)

    def _halved(self, rows: list[Conversion], told: list[Outcome], *, dry_run: bool, end: float) -> list[Outcome]:
        """Return what was told, or, where it was told of a request that has to be smaller, what its halves are told."""
        if not reading.is_to_be_halved(told):
            return told
        middle = len(rows) // 2
        halves = rows[:middle], rows[middle:]
        answers = [self._request(half, dry_run=dry_run, end=end) for half in halves]
        if told[0].disposition != Disposition.SPLIT and all(answer[0].whole_request for answer in answers):
            # Not one bad row, then: the request itself. Each row has used an attempt, so that this ends.
            return [replace(outcome, disposition=Disposition.RETRY) for outcome in told]
        return [
            outcome
            for half, answer in zip(halves, answers, strict=True)
            for outcome in self._halved(half, answer, dry_run=dry_run, end=end)
        ]

    def _request(self, rows: list[Conversion], *, dry_run: bool, end: float) -> list[Outcome]:
        """Ask Google once; whatever comes back becomes an outcome for each row."""
        from google.ads.googleads.errors import GoogleAdsException  # noqa: PLC0415
        from google.api_core.exceptions import GoogleAPICallError  # noqa: PLC0415
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

        left = end - time.monotonic()
        if left < SHORTEST_CALL:
            return [Outcome(Disposition.UNSENT, code="NO_TIME_LEFT", category=Category.TRANSIENT)] * len(rows)
        request = self.build(rows, dry_run=dry_run)
        try:
            response = self.service().upload_click_conversions(request=request, timeout=left, retry=None)
        except GoogleAdsException as error:
            return reading.refused_request(error.failure, len(rows), request_id=error.request_id or "")
        except GoogleAPICallError as error:
            return reading.broken_request(error, len(rows))
        except GoogleAuthError as error:
            return reading.locked_out(refused_login(error), len(rows))
        return reading.answered(response, len(rows), request_id=self._request_ids.last, dry_run=dry_run)

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
            # In UTC: the site's zone may be changed between two attempts.
            conversion.conversion_date_time = row.conversion_time.astimezone(UTC).isoformat(" ", "seconds")
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
    named = next((refusal for refusal in reading.LOGIN_REFUSALS if refusal in words), None)
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


def _click_id(row: Conversion) -> tuple[str, str]:
    return next((name, getattr(row, name)) for name in row.CLICK_IDS if getattr(row, name))
