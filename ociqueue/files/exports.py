"""Files that are downloaded: failed conversions and adjustments, and the history of conversions.

The history has a line for each conversion that was created in a time span, as CSV or JSON lines. Rows are read in
batches by their ids, which carry the time, so that a million of them need neither memory nor a long transaction. Click
ids are masked for everybody: operators who correct rows use the export of failed rows.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Q
from django.http import StreamingHttpResponse

from kilit.csv.writer import CHUNK, csv_lines, csv_response, lines_response
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.operating.lookups import copies_of, describe_error, source_keys_of
from ociqueue.operating.presenters import outcome_unknown, with_upload
from ociqueue.schemas.conversions import format_consent
from ociqueue.states import ENDED
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
# It begins with the columns of a file of adjustments. The key of a failed one is used, so another name keeps it.
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


FileFormat = Literal["csv", "jsonl"]
JSON_LINES = "application/x-ndjson"
COLUMNS = (
    *("id", "siteId", "sourceKey", "orderId", "conversionName", *Conversion.CLICK_IDS, "conversionTime"),
    *("conversionValue", "conversionCurrency", "consentAdUserData", "consentAdPersonalization", "eventSource"),
    *("state", "outcomeUnknown", "attemptCount", "errorCode", "errorCategory", "errorMessage"),
    *("createdAt", "updatedAt", "claimedAt", "uploadedAt", "endedAt", "nextRetryAt", "replaces", "replacedBy"),
)


def history_response(
    sites: Iterable[Site], *, start: datetime, end: datetime, file_format: FileFormat
) -> StreamingHttpResponse:
    records = read_records(sites, start=start, end=end)
    if file_format == "csv":
        return csv_response("conversions", csv_lines(COLUMNS, map(_cells, records)))
    name = f"conversions-{start:%Y-%m-%d}.jsonl"
    return lines_response(name, map(_json_line, records), content_type=JSON_LINES)


def read_records(sites: Iterable[Site], *, start: datetime, end: datetime) -> Iterator[dict[str, object]]:
    for site in sites:
        for rows in read_batches(site, start=start, end=end):
            copies, source_keys = copies_of(rows), source_keys_of(rows)
            for row in rows:
                links = {
                    "sourceKey": source_keys[row.pk],
                    "replaces": _name(row.replaces_id),
                    "replacedBy": _name(copies.get(row.pk)),
                }
                yield {"siteId": site.public_id, **_record(row), **links}


def read_batches(site: Site, *, start: datetime, end: datetime) -> Iterator[list[Conversion]]:
    """Read a site's rows, the oldest first; rows that move meanwhile are read once all the same."""
    by_id = Q(pk__gte=first_at(start - CLOCKS_DIFFER_BY), pk__lt=first_at(end + CLOCKS_DIFFER_BY))
    rows = with_upload(Conversion.objects.for_site(site)).filter(by_id, created_at__gte=start, created_at__lt=end)
    batch = list(rows.order_by("pk")[:CHUNK])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1].pk).order_by("pk")[:CHUNK]) if len(batch) == CHUNK else []


def _record(row: Conversion) -> dict[str, object]:
    error = describe_error(row) or {"code": None, "category": None, "message": None}
    return {
        "id": str(row),
        "orderId": row.order_id,
        "conversionName": row.action,
        **{name: mask_click_id(getattr(row, name)) or None for name in Conversion.CLICK_IDS},
        "conversionTime": row.conversion_time,
        "conversionValue": format_amount(row.value, row.currency),
        "conversionCurrency": row.currency,
        "consentAdUserData": format_consent(row.consent_ad_user_data) or None,
        "consentAdPersonalization": format_consent(row.consent_ad_personalization) or None,
        "eventSource": row.event_source,
        "state": row.status,
        "outcomeUnknown": outcome_unknown(row),
        "attemptCount": row.attempt_count,
        "errorCode": error["code"],
        "errorCategory": error["category"],
        "errorMessage": error["message"],
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
        "claimedAt": row.claimed_at,
        "uploadedAt": row.uploaded_at,
        "endedAt": row.updated_at if row.status in ENDED else None,
        "nextRetryAt": row.next_retry_at,
    }


def _name(pk: object) -> str | None:
    return f"{PREFIX}{pk}" if pk else None


def _cells(record: dict[str, object]) -> list[Any]:
    values = (record[name] for name in COLUMNS)
    return [str(value).lower() if isinstance(value, bool) else value for value in values]


def _json_line(record: dict[str, Any]) -> str:
    ordered = {name: record[name] for name in COLUMNS}
    ordered["conversionValue"] = float(record["conversionValue"])
    return json.dumps(ordered, ensure_ascii=False, default=datetime.isoformat) + "\n"
