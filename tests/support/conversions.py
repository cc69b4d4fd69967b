"""Conversions: not stored yet, completed or failed, and how they ended."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import make_order_id

# Conversions are accepted for 90 days, so tests send one of yesterday and not of a fixed date.
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT10:00:00Z")
DAY = YESTERDAY[:10]
# A conversion as a shop sends it.
SALE = {"conversionName": "Satış", "conversionTime": YESTERDAY, "conversionValue": 120, "gclid": "Cj0KCQ-test_1"}


def new_conversion(site: Site, **columns: Any) -> Conversion:
    """Return a valid row, not stored yet."""
    click_id = {} if columns.keys() & set(Conversion.CLICK_IDS) else {"gclid": "Cj0KCQ-test_1"}
    conversion = Conversion(
        site=site,
        **{
            "action": "Satış",
            "conversion_time": datetime.now(UTC) - timedelta(hours=2),
            "value": 120,
            "currency": "TRY",
            **click_id,
            **columns,
        },
    )
    conversion.order_id = make_order_id(str(site.pk), conversion.action, conversion.source_key or str(conversion.pk))
    return conversion


def make_completed(site: Site, **columns: Any) -> Conversion:
    """Make a row that the script reported as uploaded."""
    row = new_conversion(site, **columns)
    row.save()
    rows = Conversion.objects.filter(pk=row.pk)
    rows.claim(limit=1)
    rows.move("ack")
    return rows.get()


def make_failed(
    site: Site,
    number: int = 1,
    *,
    code: str = "INVALID_VALUE",
    category: str = "VALIDATION",
    message: str = "bad",
    **columns: Any,
) -> list[Conversion]:
    """Make rows that the script reported as failed."""
    rows = Conversion.objects.bulk_create([new_conversion(site, **columns) for _ in range(number)])
    chosen = Conversion.objects.filter(pk__any_of=[row.pk for row in rows])
    chosen.claim(limit=number)
    chosen.ack_failed(code=code, category=category, message=message)
    return list(chosen.order_by("pk"))


def ending(row: Conversion) -> tuple[str, str, str]:
    """Return how a row has ended, as it is now."""
    row.refresh_from_db()
    return row.status, row.provider_error_code, row.provider_error_category
