"""The Google Ads providers for conversions and adjustments, and the connection that they share.

Only workers import Google's client, which takes a second and 100 MB.
"""

import gc
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import import_module
from typing import Any, ClassVar

from django.conf import settings

from ociqueue.models import Adjustment, Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import Disposition
from ociqueue.uploader.google import GoogleProvider, bisect_rejected, login_error, login_rejected
from ociqueue.uploader.googleads import responses
from ociqueue.uploader.results import RowResult

VERSION = "v26"
SHORTEST_CALL = 0.5  # seconds
TOKEN_EXPIRED = "OAUTH_TOKEN_EXPIRED"  # noqa: S105 - an error code


@cache
def load_client() -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # otherwise it logs every process that a worker starts
    from google.ads.googleads import client  # noqa: F401

    # Otherwise the first request would load them, after the freeze.
    import_module(f"google.ads.googleads.{VERSION}")
    # The client stays loaded: without this the garbage collector would walk it several times per batch.
    gc.collect()
    gc.freeze()


class GoogleAdsConnection(GoogleProvider, ABC):
    """Subclasses say what is sent, and to which method of which service."""

    REQUEST: ClassVar[str]  # the type of its message
    SERVICE: ClassVar[str]
    METHOD: ClassVar[str]

    def __init__(self, account: GoogleAdsAccount) -> None:
        load_client()
        from google.ads.googleads.client import GoogleAdsClient

        super().__init__(account)
        # Built by hand: the client's own loaders log in at once, and ignore our token address.
        self.client = GoogleAdsClient(
            credentials=self.credentials,
            developer_token=account.developer_token or None,
            endpoint=settings.GOOGLE_ADS_ENDPOINT or None,
            login_customer_id=account.login_customer_id or None,
            version=VERSION,
            use_proto_plus=False,  # twenty times faster to build, and unknown enum values stay numbers
        )
        self.request_ids = request_ids()

    @abstractmethod
    def add_row(self, request: Any, row: Any) -> None: ...

    @cached_property
    def service(self) -> Any:
        return self.client.get_service(self.SERVICE, interceptors=[self.request_ids])

    def can_send(self) -> bool:
        """Return true: Google counts requests of this API by developer token, and says when to wait."""
        return True

    def upload(self, batch: Sequence[Any], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        """Send rows in one request, or in parts if it is too large or Google does not say which row is invalid."""
        # All requests of a batch end by then, so that the task has time to settle before a sweep takes the rows back.
        end = time.monotonic() + settings.GOOGLE_ADS_TIMEOUT
        return bisect_rejected(
            list(batch), lambda rows: self._request(rows, dry_run=dry_run, job_id=None if dry_run else job_id, end=end)
        )

    def _request(
        self, rows: list[Any], *, dry_run: bool, job_id: int | None, end: float, again: bool = True
    ) -> list[RowResult]:
        from google.ads.googleads.errors import GoogleAdsException
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError

        left = end - time.monotonic()
        if left < SHORTEST_CALL:
            return responses.no_time_left(len(rows))
        request = self.build(rows, dry_run=dry_run, job_id=job_id)
        try:
            response = getattr(self.service, self.METHOD)(request=request, timeout=left, retry=None)
        except GoogleAdsException as error:
            results = responses.read_failure(error.failure, len(rows), request_id=error.request_id or "")
        except GoogleAPICallError as error:
            results = responses.read_transport_error(error, len(rows))
        except GoogleAuthError as error:
            return login_rejected(login_error(error), len(rows))
        else:
            return responses.read_response(response, len(rows), request_id=self.request_ids.last, dry_run=dry_run)
        if again and results[0].code == TOKEN_EXPIRED:
            # Nothing was applied, and a new token may be enough.
            self.forget_token()
            return self._request(rows, dry_run=dry_run, job_id=job_id, end=end, again=False)
        return results

    def build(self, rows: Sequence[Any], *, dry_run: bool, job_id: int | None = None) -> Any:
        """Return the request; but for the job id, the same rows always give the same bytes."""
        request = self.client.get_type(self.REQUEST)
        request.customer_id = self.account.customer_id
        request.partial_failure = True
        request.validate_only = dry_run
        if job_id is not None:
            request.job_id = job_id
        for row in rows:
            self.add_row(request, row)
        return request


def google_time(moment: datetime) -> str:
    """Format a time in UTC: the site's zone may be changed between two attempts."""
    return moment.astimezone(UTC).isoformat(" ", "seconds")


def request_ids() -> Any:
    """Return an interceptor that keeps the id of the last request, which support asks for; responses lack it."""
    import grpc

    class RequestIds(grpc.UnaryUnaryClientInterceptor):
        last = ""

        def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            self.last = ""
            call = continuation(details, request)
            metadata = dict([*(call.initial_metadata() or ()), *(call.trailing_metadata() or ())])
            self.last = str(metadata.get("request-id", ""))[:64]
            return call

    return RequestIds()


class GoogleAds(GoogleAdsConnection):
    REQUEST, SERVICE = "UploadClickConversionsRequest", "ConversionUploadService"
    METHOD = "upload_click_conversions"

    def add_row(self, request: Any, row: Conversion) -> None:
        conversion = request.conversions.add()
        if kind := row.kind_of_click_id:
            setattr(conversion, kind, getattr(row, kind))
        if row.hashed_email or row.hashed_phone:
            self._identify(conversion, row)
        conversion.conversion_action = self.account.action_of(row.action)
        conversion.conversion_date_time = google_time(row.conversion_time)
        conversion.conversion_value = float(row.value)
        conversion.currency_code = row.currency
        conversion.order_id = row.order_id
        if row.consent_ad_user_data != row.Consent.UNSPECIFIED:
            # The API takes personalization only with lists of users.
            conversion.consent.ad_user_data = getattr(self.consents, row.consent_ad_user_data)

    def _identify(self, conversion: Any, row: Conversion) -> None:
        identifiers = {
            "hashed_email": row.hashed_email_ads or row.hashed_email,
            "hashed_phone_number": row.hashed_phone,
        }
        for name, stored in identifiers.items():
            if stored:
                identifier = conversion.user_identifiers.add()
                identifier.user_identifier_source = self.client.enums.UserIdentifierSourceEnum.FIRST_PARTY
                setattr(identifier, name, stored)

    def query(self, text: str) -> Any:
        service = self.client.get_service("GoogleAdsService")
        request = {"customer_id": self.account.customer_id, "query": text}
        return service.search(request=request, timeout=settings.GOOGLE_ADS_TIMEOUT, retry=None)

    @cached_property
    def consents(self) -> Any:
        return self.client.enums.ConsentStatusEnum


RETRACTED = "CONVERSION_ALREADY_RETRACTED"


class GoogleAdsAdjustments(GoogleAdsConnection):
    REQUEST, SERVICE = "UploadConversionAdjustmentsRequest", "ConversionAdjustmentUploadService"
    METHOD = "upload_conversion_adjustments"

    def upload(self, batch: Sequence[Adjustment], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        results = super().upload(batch, dry_run=dry_run, job_id=job_id)
        return [for_row(row, result) for row, result in zip(batch, results, strict=True)]

    def add_row(self, request: Any, row: Adjustment) -> None:
        adjustment = request.conversion_adjustments.add()
        # By the order id alone: Google asks for it when the conversion was sent with one, and refuses both.
        adjustment.order_id = row.order_id
        adjustment.conversion_action = self.account.action_of(row.action)
        adjustment.adjustment_date_time = google_time(row.adjusted_at)
        adjustment.adjustment_type = getattr(self.kinds, row.kind)
        if row.value is not None:
            adjustment.restatement_value.adjusted_value = float(row.value)
            adjustment.restatement_value.currency_code = row.currency

    @cached_property
    def kinds(self) -> Any:
        return self.client.enums.ConversionAdjustmentTypeEnum


def for_row(row: Adjustment, result: RowResult) -> RowResult:
    if result.code == RETRACTED and not row.is_retraction and result.disposition == Disposition.DUPLICATE:
        return replace(result, disposition=Disposition.FATAL)
    return result
