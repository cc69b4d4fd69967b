"""The export for a site's script: exactly the rows that its request claimed."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count, Q

from kilit.api.cursor import encode_cursor
from kilit.api.input_model import InvalidInput
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX, ConversionQuerySet
from ociqueue.models.limits import IS_TOO_OLD, LONGEST_AGE, RETRY_TIME_PASSED, is_over_cap, is_withheld
from ociqueue.models.sending import OLDEST_FIRST
from ociqueue.models.statements import claim_values
from ociqueue.schemas.responses import ClaimedPage, Item, NextPage, PageMeta
from ociqueue.states import SyncMethod
from ociqueue.values.local_times import LocalTimes

# In the order of the parameters of `item`.
COLUMNS = (
    *("id", "order_id", *Conversion.CLICK_IDS, "action", "conversion_time", "value", "currency"),
    *("consent_ad_user_data", "consent_ad_personalization", "hashed_email", "hashed_phone"),
)
TIME = COLUMNS.index("conversion_time")
# Each claim counts an attempt, and the count never goes down: it is the number of the claim.
CLAIM = "attempt_count"
NO_CONSENT = Conversion.Consent.UNSPECIFIED.value


def claim_items(site: Site, *, limit: int) -> list[Item]:
    local = LocalTimes(site.zone)  # before the claim: an error here must not leave rows claimed
    claimed = claim_values(site, *COLUMNS, CLAIM, limit=limit)
    site.note_export()
    # By position: names for the columns of thousands of rows would take as long as the rest.
    return [item(*row, time=local.format_text(row[TIME])) for row in claimed]


def claim_page(site: Site, *, limit: int) -> ClaimedPage:
    """Claim, and say whether more rows are due: only then there is a cursor."""
    items = claim_items(site, limit=limit)
    has_more = len(items) == limit and Conversion.objects.for_site(site).due(path=SyncMethod.SCRIPT).exists()
    return {"siteId": str(site.pk), "items": items, **_next_page(items if has_more else [])}


def preview_page(site: Site, *, limit: int, cursor: UUID | None) -> dict[str, object]:
    page = preview(site, limit=limit + 1, after=cursor)
    items, more = page["items"][:limit], page["items"][limit:]
    return {**page, "items": items, **_next_page(items if more else [])}


def _next_page(items: list[Item]) -> NextPage:
    """Return the cursor after a page with more behind it, under all names that scripts in the field look for."""
    cursor = encode_cursor(UUID(items[-1]["id"].removeprefix(PREFIX))) if items else None
    meta: PageMeta = {"nextCursor": cursor, "hasNextPage": cursor is not None}
    return {"nextCursor": cursor, "next_cursor": cursor, "meta": meta}


def preview(site: Site, *, limit: int, after: UUID | None = None) -> dict[str, Any]:
    """Return what a claim would export, and why the other rows wait; nothing is written."""
    rows = Conversion.objects.for_site(site)
    local = LocalTimes(site.zone)
    due = rows.due().filter(_is_later(rows, after)).order_by(*OLDEST_FIRST).values_list(*COLUMNS)[:limit]
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
        "items": [item(*row, time=local.format(row[TIME])) for row in due],
        "counts": {"queued": queued, "skipped": waits["all"] - queued},
        "warnings": list(_warnings(site, waits)),
    }


def _is_later(rows: ConversionQuerySet, after: UUID | None) -> Q:
    """Match the rows that are claimed after one; it may have been claimed meanwhile."""
    if after is None:
        return Q()
    time = rows.filter(pk=after).values_list("created_at", flat=True).first()
    if time is None:
        raise InvalidInput([{"field": "cursor", "message": "This is not a valid cursor."}], 1)
    # The first condition adds nothing, but an index can answer it.
    return Q(created_at__gte=time) & (Q(created_at__gt=time) | Q(pk__gt=after))


def _warnings(site: Site, waits: Mapping[str, int]) -> Iterator[str]:
    if number := waits["withheld"]:
        yield f"{number} rows are withheld because consent was denied; the next sweep ends them."
    if number := waits["too_old"]:
        yield f"{number} rows are more than {LONGEST_AGE.days} days old; the next sweep fails them."
    if number := waits["later"]:
        yield f"{number} rows wait for their retry time."
    if number := waits["over_cap"]:
        yield f"{number} rows have used up their attempts; the next cap sweep fails them."
    if site.is_paused:
        yield f"The site is paused: {site.pause_reason}"


def item(  # noqa: PLR0917 - the columns
    pk: Any,
    order_id: str,
    gclid: str,
    wbraid: str,
    gbraid: str,
    action: str,
    _time: object,
    value: Any,
    currency: str,
    user_data: Any,
    personalization: Any,
    email: str,
    phone: str,
    claim: int | None = None,
    *,
    time: str,
) -> Item:
    exported: Item = {
        "id": f"{PREFIX}{pk}",
        "orderId": order_id,
        "gclid": gclid,
        "wbraid": wbraid,
        "gbraid": gbraid,
        "conversionName": action,
        "conversionTime": time,
        "conversionValue": float(value),
        "conversionCurrency": currency,
    }
    if claim is not None:
        exported["claim"] = claim
    if user_data != NO_CONSENT:
        exported["consentAdUserData"] = user_data
    if personalization != NO_CONSENT:
        exported["consentAdPersonalization"] = personalization
    if email:
        exported["hashedEmail"] = email
    if phone:
        exported["hashedPhone"] = exported["hashedPhoneNumber"] = phone
    return exported
