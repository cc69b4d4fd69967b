"""Failed conversions as CSV rows."""

from collections.abc import Callable
from typing import Any

from ociqueue.currencies import MINOR_UNITS
from ociqueue.models import Conversion
from ociqueue.schemas.conversions import format_consent

FIELDS: dict[str, str | Callable[[Conversion], Any]] = {
    "id": str,
    "siteId": "site.public_id",
    "conversionName": "action",
    **{name: name for name in Conversion.CLICK_IDS},
    "conversionTime": "conversion_time",
    "conversionValue": lambda row: f"{row.value:.{MINOR_UNITS.get(row.currency, 2)}f}",
    "conversionCurrency": "currency",
    "consentAdUserData": lambda row: format_consent(row.consent_ad_user_data),
    "consentAdPersonalization": lambda row: format_consent(row.consent_ad_personalization),
    "orderId": "order_id",
    "sourceKey": "source_key",
    "attemptCount": "attempt_count",
    "errorCode": "provider_error_code",
    "errorCategory": "provider_error_category",
    # On one line, as a file that is imported again has to be.
    "errorMessage": lambda row: " ".join(filter(None, row.last_error.splitlines())),
    "createdAt": "created_at",
    "failedAt": "updated_at",
}
