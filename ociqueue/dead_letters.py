"""Failed conversions as CSV rows."""

from typing import Any

from ociqueue.currencies import MINOR_UNITS
from ociqueue.export import format_time
from ociqueue.models import Conversion
from ociqueue.models.conversion import PREFIX

COLUMNS = (
    "id",
    "siteId",
    "conversionName",
    *Conversion.CLICK_IDS,
    "conversionTime",
    "conversionValue",
    "conversionCurrency",
    "orderId",
    "sourceKey",
    "attemptCount",
    "errorCode",
    "errorCategory",
    "errorMessage",
    "createdAt",
    "failedAt",
)


def cells(conversion: Conversion) -> list[Any]:
    return [
        f"{PREFIX}{conversion.pk}",
        conversion.site.public_id,
        conversion.action,
        *(getattr(conversion, name) for name in Conversion.CLICK_IDS),
        format_time(conversion.conversion_time, conversion.site.zone),
        f"{conversion.value:.{MINOR_UNITS.get(conversion.currency, 2)}f}",
        conversion.currency,
        conversion.order_id,
        conversion.source_key or "",
        conversion.attempt_count,
        conversion.provider_error_code,
        conversion.provider_error_category,
        conversion.last_error,
        format_time(conversion.created_at, conversion.site.zone),
        format_time(conversion.updated_at, conversion.site.zone),
    ]
