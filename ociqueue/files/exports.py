"""Files that are downloaded: failed conversions and adjustments, and the history of conversions.

The history has a line for each conversion that was created in a time span, as CSV or JSON lines. Rows are read in
batches by their ids, which carry the time, so that a million of them need neither memory nor a long transaction. Click
ids are masked for everybody: operators who correct rows use the export of failed rows.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

from django.db.models import Q
from django.http import StreamingHttpResponse

from kilit.csv.writer import CHUNK, csv_lines, csv_response, lines_response
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.sentences import english
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.operating.lookups import links_of
from ociqueue.operating.presenters import with_upload
from ociqueue.schemas.columns import COLUMNS, Column, columns_of, describe_error, format_amount, mask_click_id

ERROR: dict[str, Column] = {
    "attemptCount": "attempt_count",
    "errorCode": "provider_error_code",
    "errorCategory": "provider_error_category",
    # On one line, as a file that is imported again has to be.
    "errorMessage": lambda row: " ".join(filter(None, english(row.last_error).splitlines())),
    "createdAt": "created_at",
    "failedAt": "updated_at",
}
EXPORTED = (
    *("id", "siteId", "conversionName", *Conversion.CLICK_IDS, "conversionTime", "conversionValue"),
    *("conversionCurrency", "consentAdUserData", "consentAdPersonalization", "eventSource", "orderId", "sourceKey"),
)
FIELDS: dict[str, Column] = {**{name: COLUMNS[name] for name in EXPORTED}, **ERROR}
# It begins with the columns of a file of adjustments. The key of a failed one is used, so another name keeps it.
ADJUSTMENT_FIELDS: dict[str, Column] = {
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


FileFormat = Literal["csv", "jsonl"]
JSON_LINES = "application/x-ndjson"
HISTORY = (
    *("id", "siteId", "sourceKey", "orderId", "conversionName", *Conversion.CLICK_IDS, "conversionTime"),
    *("conversionValue", "conversionCurrency", "consentAdUserData", "consentAdPersonalization", "eventSource"),
    *("state", "outcomeUnknown", "attemptCount", "errorCode", "errorCategory", "errorMessage"),
    *("createdAt", "updatedAt", "claimedAt", "uploadedAt", "endedAt", "nextRetryAt", "replaces", "replacedBy"),
)
OF_ROW = tuple(name for name in HISTORY if name not in ("siteId", "sourceKey"))


def history_response(
    sites: Iterable[Site], *, start: datetime, end: datetime, file_format: FileFormat
) -> StreamingHttpResponse:
    records = read_records(sites, start=start, end=end)
    if file_format == "csv":
        return csv_response("conversions", csv_lines(HISTORY, map(_cells, records)))
    name = f"conversions-{start:%Y-%m-%d}.jsonl"
    return lines_response(name, map(_json_line, records), content_type=JSON_LINES)


def read_records(sites: Iterable[Site], *, start: datetime, end: datetime) -> Iterator[dict[str, object]]:
    for site in sites:
        for rows in read_batches(site, start=start, end=end):
            links = links_of(rows)
            yield from ({**_record(row), "siteId": site.public_id, **links[row.pk]} for row in rows)


def read_batches(site: Site, *, start: datetime, end: datetime) -> Iterator[list[Conversion]]:
    """Read a site's rows, the oldest first; rows that move meanwhile are read once all the same."""
    by_id = Q(pk__gte=first_at(start - CLOCKS_DIFFER_BY), pk__lt=first_at(end + CLOCKS_DIFFER_BY))
    rows = with_upload(Conversion.objects.for_site(site)).filter(by_id, created_at__gte=start, created_at__lt=end)
    batch = list(rows.order_by("pk")[:CHUNK])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1].pk).order_by("pk")[:CHUNK]) if len(batch) == CHUNK else []


def _record(row: Conversion) -> dict[str, object]:
    error = describe_error(row) or {}
    return {
        **columns_of(row, OF_ROW),
        **{name: mask_click_id(getattr(row, name)) or None for name in Conversion.CLICK_IDS},
        "errorCode": error.get("code"),
        "errorCategory": error.get("category"),
        "errorMessage": error.get("message"),
    }


def _cells(record: dict[str, object]) -> list[Any]:
    values = (record[name] for name in HISTORY)
    return [str(value).lower() if isinstance(value, bool) else value for value in values]


def _json_line(record: dict[str, Any]) -> str:
    ordered = {name: record[name] for name in HISTORY}
    ordered["conversionValue"] = float(record["conversionValue"])
    return json.dumps(ordered, ensure_ascii=False, default=datetime.isoformat) + "\n"
