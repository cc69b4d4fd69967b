"""Failed conversions and adjustments as CSV rows."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ociqueue.models import Adjustment, Conversion
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import format_consent
from ociqueue.values.currencies import MINOR_UNITS

SHOWN = 4  # letters of a click id, at its beginning and its end
ERROR: dict[str, Any] = {
    "attemptCount": "attempt_count",
    "errorCode": "provider_error_code",
    "errorCategory": "provider_error_category",
    # On one line, as a file that is imported again has to be.
    "errorMessage": lambda row: " ".join(filter(None, row.last_error.splitlines())),
    "createdAt": "created_at",
    "failedAt": "updated_at",
}
FIELDS: dict[str, str | Callable[[Conversion], Any]] = {
    "id": str,
    "siteId": "site.public_id",
    "conversionName": "action",
    **{name: name for name in Conversion.CLICK_IDS},
    "conversionTime": "conversion_time",
    "conversionValue": lambda row: format_amount(row.value, row.currency),
    "conversionCurrency": "currency",
    "consentAdUserData": lambda row: format_consent(row.consent_ad_user_data),
    "consentAdPersonalization": lambda row: format_consent(row.consent_ad_personalization),
    "eventSource": "event_source",
    "orderId": "order_id",
    "sourceKey": "source_key",
    **ERROR,
}
# The first columns are those of a file of adjustments. The key of a failed one is used, so another name keeps it.
ADJUSTMENT_FIELDS: dict[str, str | Callable[[Adjustment], Any]] = {
    "id": lambda row: f"{PREFIX}{row.original_id}",
    "kind": "kind",
    "value": lambda row: "" if row.value is None else format_amount(row.value, row.currency),
    "currency": "currency",
    "adjustmentId": str,
    "adjustmentKey": lambda row: row.source_key or "",
    "conversionOrderId": "order_id",
    "siteId": "site.public_id",
    "adjustedAt": "adjusted_at",
    **ERROR,
}


def mask_click_id(click_id: str) -> str:
    if not click_id:
        return ""
    return f"{click_id[:SHOWN]}…{click_id[-SHOWN:]}" if len(click_id) > 2 * SHOWN else "…"


def format_amount(value: Decimal, currency: str) -> str:
    return f"{value:.{MINOR_UNITS.get(currency, 2)}f}"
