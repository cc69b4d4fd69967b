"""What a site's script is handed: exactly the rows that its request claimed."""

from datetime import datetime
from typing import Any, TypedDict
from zoneinfo import ZoneInfo

from django.db.models import Count, Q
from django.db.models.functions import Now

from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.queryset import OLDEST_FIRST

# What an item is made of.
COLUMNS = ("id", "order_id", *Conversion.CLICK_IDS, "action", "conversion_time", "value", "currency")


class Item(TypedDict):
    """A conversion as the script reads it; absent click ids are empty strings."""

    id: str
    orderId: str
    gclid: str
    wbraid: str
    gbraid: str
    conversionName: str
    conversionTime: str
    conversionValue: float
    conversionCurrency: str


def claim_items(site: Site, *, limit: int) -> list[Item]:
    zone = site.zone  # whatever could fail does so before rows are claimed
    claimed = Conversion.objects.for_site(site).hand_out(*COLUMNS, limit=limit)
    site.note_export()
    return [item(row, zone) for row in claimed]


def preview(site: Site, *, limit: int) -> dict[str, Any]:
    """Show what a claim would hand out, and why the rest waits; nothing is written."""
    rows = Conversion.objects.for_site(site)
    due = rows.due().order_by(*OLDEST_FIRST).values_list(*COLUMNS)[:limit]
    waits = rows.waiting().aggregate(
        all=Count("pk"),
        later=Count("pk", filter=Q(next_retry_at__gt=Now())),
        spent=Count("pk", filter=rows.is_spent() & ~Q(next_retry_at__gt=Now())),
    )
    skipped = waits["later"] + waits["spent"]
    return {
        "siteId": site.public_id,
        "items": [item(row, site.zone) for row in due],
        "counts": {"queued": waits["all"] - skipped, "skipped": skipped},
        "warnings": list(_warnings(site, later=waits["later"], spent=waits["spent"])),
    }


def _warnings(site: Site, *, later: int, spent: int) -> Any:
    if later:
        yield f"{later} rows wait for their retry time."
    if spent:
        yield f"{spent} rows have used up their attempts; the next cap sweep fails them."
    if site.is_paused:
        yield f"The site is paused: {site.pause_reason}"


def item(row: tuple[Any, ...], zone: ZoneInfo) -> Item:
    """Return a conversion in the form that Google's uploads read, from its columns."""
    pk, order_id, gclid, wbraid, gbraid, action, time, value, currency = row
    return {
        "id": f"{PREFIX}{pk}",
        "orderId": order_id,
        "gclid": gclid,
        "wbraid": wbraid,
        "gbraid": gbraid,
        "conversionName": action,
        "conversionTime": spoken_time(time, zone),
        "conversionValue": float(value),
        "conversionCurrency": currency,
    }


def spoken_time(time: datetime, zone: ZoneInfo) -> str:
    """Return `yyyy-mm-dd HH:mm:ss+HH:mm` in the site's zone, with the offset that held at that time."""
    return time.astimezone(zone).isoformat(sep=" ", timespec="seconds")
