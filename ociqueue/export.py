"""The export for a site's script: exactly the rows that its request claimed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count

from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.limits import RETRY_TIME_PASSED, is_over_cap
from ociqueue.models.sending import OLDEST_FIRST
from ociqueue.schemas.answers import Item

# In the order that `item` unpacks.
COLUMNS = (
    *("id", "order_id", *Conversion.CLICK_IDS, "action", "conversion_time", "value", "currency"),
    *("consent_ad_user_data", "consent_ad_personalization", "hashed_email", "hashed_phone"),
)
# Each claim counts an attempt, and the count never goes down: it is the number of the claim.
CLAIM = "attempt_count"
NO_CONSENT = Conversion.Consent.UNSPECIFIED.value


def claim_items(site: Site, *, limit: int) -> list[Item]:
    zone = site.zone  # before the claim: an error here must not leave rows claimed
    claimed = Conversion.objects.claim_values(site, *COLUMNS, CLAIM, limit=limit)
    site.note_export()
    return [item(row, zone, claim) for *row, claim in claimed]


def preview(site: Site, *, limit: int) -> dict[str, Any]:
    """Return what a claim would export, and why the other rows wait; nothing is written."""
    rows = Conversion.objects.for_site(site)
    due = rows.due().order_by(*OLDEST_FIRST).values_list(*COLUMNS)[:limit]
    waits = rows.waiting().aggregate(
        all=Count("pk"),
        later=Count("pk", filter=~RETRY_TIME_PASSED),
        over_cap=Count("pk", filter=is_over_cap() & RETRY_TIME_PASSED),
    )
    skipped = waits["later"] + waits["over_cap"]
    return {
        "siteId": str(site.pk),
        "items": [item(row, site.zone) for row in due],
        "counts": {"queued": waits["all"] - skipped, "skipped": skipped},
        "warnings": list(_warnings(site, later=waits["later"], over_cap=waits["over_cap"])),
    }


def _warnings(site: Site, *, later: int, over_cap: int) -> Iterator[str]:
    if later:
        yield f"{later} rows wait for their retry time."
    if over_cap:
        yield f"{over_cap} rows have used up their attempts; the next cap sweep fails them."
    if site.is_paused:
        yield f"The site is paused: {site.pause_reason}"


def item(row: Sequence[Any], zone: ZoneInfo, claim: int | None = None) -> Item:
    pk, order_id, gclid, wbraid, gbraid, action, time, value, currency, user_data, personalization, email, phone = row
    found: Item = {
        "id": f"{PREFIX}{pk}",
        "orderId": order_id,
        "gclid": gclid,
        "wbraid": wbraid,
        "gbraid": gbraid,
        "conversionName": action,
        "conversionTime": format_time(time, zone),
        "conversionValue": float(value),
        "conversionCurrency": currency,
    }
    if claim is not None:
        found["claim"] = claim
    if user_data != NO_CONSENT:
        found["consentAdUserData"] = user_data
    if personalization != NO_CONSENT:
        found["consentAdPersonalization"] = personalization
    if email:
        found["hashedEmail"] = email
    if phone:
        found["hashedPhone"] = phone
    return found


def format_time(time: datetime, zone: ZoneInfo) -> str:
    """Return `yyyy-mm-dd HH:mm:ss+HH:mm` in the site's zone, with the offset that held at that time."""
    return time.astimezone(zone).isoformat(sep=" ", timespec="seconds")
