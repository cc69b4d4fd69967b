"""Failed conversions as a CSV file: streamed, and safe to open in a spreadsheet (OCI-27, CON-7)."""

import csv
from collections.abc import Iterator
from typing import Any

from ociqueue.export import spoken_time
from ociqueue.models import Conversion
from ociqueue.models.conversion import PREFIX
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import Status

CHUNK = 1000
# A spreadsheet takes a cell that begins so for a formula, and runs it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
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


class Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        """Return the line."""
        return text


def csv_lines(rows: ConversionQuerySet) -> Iterator[str]:
    """Give the file line by line; rows come from a server-side cursor, so memory stays the same for any number."""
    writer = csv.writer(Echo())
    # Without the mark Excel reads UTF-8 as the machine's own code page.
    yield "\ufeff" + str(writer.writerow(COLUMNS))
    failed = rows.filter(status=Status.FAILED).select_related("site").order_by("pk")
    for conversion in failed.iterator(chunk_size=CHUNK):
        yield str(writer.writerow([harmless(cell) for cell in cells(conversion)]))


def cells(conversion: Conversion) -> list[Any]:
    """Return one row, in the order of the columns."""
    return [
        f"{PREFIX}{conversion.pk}",
        conversion.site.public_id,
        conversion.action,
        *(getattr(conversion, name) for name in Conversion.CLICK_IDS),
        spoken_time(conversion.conversion_time, conversion.site.zone),
        conversion.value,
        conversion.currency,
        conversion.order_id,
        conversion.source_key or "",
        conversion.attempt_count,
        conversion.provider_error_code,
        conversion.provider_error_category,
        conversion.last_error,
        spoken_time(conversion.created_at, conversion.site.zone),
        spoken_time(conversion.updated_at, conversion.site.zone),
    ]


def harmless(cell: Any) -> str:
    """Return a cell as text that no spreadsheet takes for a formula."""
    text = str(cell)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
