"""The Google Ads provider for conversions."""

from functools import cached_property
from typing import Any

from ociqueue.models import Conversion
from ociqueue.uploader.googleads.connection import GoogleAdsConnection, google_time
from ociqueue.uploader.identities import google_identities
from ociqueue.uploader.results import Identities


class GoogleAds(GoogleAdsConnection):
    REQUEST = "UploadClickConversionsRequest"

    def identities(self, row: Conversion) -> Identities:
        return google_identities(self.account, row)

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
        """Add the hashes of a row, the e-mail by the rule of this API."""
        identifiers = {
            "hashed_email": row.hashed_email_ads or row.hashed_email,
            "hashed_phone_number": row.hashed_phone,
        }
        for name, stored in identifiers.items():
            if stored:
                identifier = conversion.user_identifiers.add()
                identifier.user_identifier_source = self.client.enums.UserIdentifierSourceEnum.FIRST_PARTY
                setattr(identifier, name, stored)

    def call(self, request: Any, *, timeout: float) -> Any:
        return self.service.upload_click_conversions(request=request, timeout=timeout, retry=None)

    @cached_property
    def consents(self) -> Any:
        return self.client.enums.ConsentStatusEnum

    @cached_property
    def service(self) -> Any:
        return self.client.get_service("ConversionUploadService", interceptors=[self.request_ids])
