"""A conversion as it leaves: one table of columns, of which each way out names its own.

Rows of the operators' API, lookups, the history and the export of failed rows read it. Only the export has whole click
ids. Webhooks have other names, and share the masks.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any

from kilit.masking import mask_identifiers
from kilit.sentences import english
from ociqueue.models import Conversion
from ociqueue.schemas.conversions import format_consent
from ociqueue.states import ENDED, ConversionStatus
from ociqueue.values.currencies import MINOR_UNITS

HIDDEN = "…"
SHOWN = 4  # letters of a click id, at its beginning and its end
REPLACED = "A corrected copy was sent in its place."


def outcome_unknown(row: Any) -> bool:
    """Return whether a row may have reached Google: by an earlier upload, or by the one that holds it.

    Not in UPLOADED: Google has said that it has the row.
    """
    if row.status == ConversionStatus.UPLOADED:
        return False
    return row.outcome_unknown or bool(row.open_batch and row.open_batch.sent_at)


def mask_click_id(click_id: str) -> str:
    if not click_id:
        return ""
    return f"{click_id[:SHOWN]}{HIDDEN}{click_id[-SHOWN:]}" if len(click_id) > 2 * SHOWN else HIDDEN


def mask_error(message: str, conversion: Conversion) -> str:
    """Return an error without personal data; Google and scripts may quote click ids, also of other rows."""
    message = english(message)
    if conversion.click_id:
        message = message.replace(conversion.click_id, HIDDEN)
    return mask_identifiers(message)


def format_amount(value: Decimal, currency: str) -> str:
    return f"{value:.{MINOR_UNITS.get(currency, 2)}f}"


def hint_for(row: Conversion) -> str:
    return REPLACED if row.is_replaced else row.entry.hint


def describe_error(row: Conversion) -> dict[str, object] | None:
    if not row.provider_error_code:
        return None
    hint = hint_for(row)
    # An upload stores cause and advice before Google's own words.
    message = mask_error(row.last_error, row).removeprefix(row.entry.cause).strip().removeprefix(row.entry.advice)
    return {
        "code": row.provider_error_code,
        "category": row.provider_error_category or None,
        "message": message.strip(),
        "hint": hint or None,
    }


Column = str | Callable[[Any], Any]  # an attribute, or what is made of a row
COLUMNS: Mapping[str, Column] = {
    "id": str,
    "siteId": "site.public_id",
    "sourceKey": "source_key",
    "orderId": "order_id",
    "conversionName": "action",
    **{name: name for name in Conversion.CLICK_IDS},
    "conversionTime": "conversion_time",
    "conversionValue": lambda row: format_amount(row.value, row.currency),
    "conversionCurrency": "currency",
    "consentAdUserData": lambda row: format_consent(row.consent_ad_user_data) or None,
    "consentAdPersonalization": lambda row: format_consent(row.consent_ad_personalization) or None,
    "eventSource": "event_source",
    "state": "status",
    "outcomeUnknown": outcome_unknown,
    "attemptCount": "attempt_count",
    "error": describe_error,
    "errorCode": "provider_error_code",
    "errorCategory": "provider_error_category",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "claimedAt": "claimed_at",
    "uploadedAt": "uploaded_at",
    "endedAt": lambda row: row.updated_at if row.status in ENDED else None,
    "nextRetryAt": "next_retry_at",
}


def columns_of(row: Conversion, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the columns that the table has."""
    return {name: READERS[name](row) for name in names if name in READERS}


READERS = {name: column if callable(column) else attrgetter(column) for name, column in COLUMNS.items()}
