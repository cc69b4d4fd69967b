"""The export for a site's script: exactly the rows that its request claimed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count

from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.limits import RETRY_TIME_PASSED, is_over_cap
from ociqueue.models.sending import OLDEST_FIRST
from ociqueue.models.unsendable import IS_TOO_OLD, LONGEST_AGE, is_withheld
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
    # Each row that waits has one reason: the first of these.
    sendable = ~IS_TOO_OLD & ~is_withheld()
    waits = rows.waiting().aggregate(
        all=Count("pk"),
        withheld=Count("pk", filter=is_withheld()),
        too_old=Count("pk", filter=IS_TOO_OLD & ~is_withheld()),
        later=Count("pk", filter=sendable & ~RETRY_TIME_PASSED),
        over_cap=Count("pk", filter=sendable & is_over_cap() & RETRY_TIME_PASSED),
    )
    queued = 2 * waits["all"] - sum(waits.values())
    return {
        "siteId": str(site.pk),
        "items": [item(row, site.zone) for row in due],
        "counts": {"queued": queued, "skipped": waits["all"] - queued},
        "warnings": list(_warnings(site, waits)),
    }


def _warnings(site: Site, waits: Mapping[str, int]) -> Iterator[str]:
    if found := waits["withheld"]:
        yield f"{found} rows are withheld because consent was denied; the next sweep ends them."
    if found := waits["too_old"]:
        yield f"{found} rows are more than {LONGEST_AGE.days} days old; the next sweep fails them."
    if found := waits["later"]:
        yield f"{found} rows wait for their retry time."
    if found := waits["over_cap"]:
        yield f"{found} rows have used up their attempts; the next cap sweep fails them."
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
