"""Builds the bodies of requests; the same rows always give the same bytes."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from pydantic_core import to_json

from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount

MOST_EVENTS = 2000
ANSWERED = (Conversion.Consent.GRANTED, Conversion.Consent.DENIED)


def split_requests(account: GoogleAdsAccount, rows: Sequence[Conversion]) -> Iterator[list[Conversion]]:
    """Yield the rows of each request in their order: one conversion action, and single rows that go alone."""
    together: dict[str, list[Conversion]] = {}
    for row in rows:
        key = f"alone {row.pk}" if row.send_alone else account.action_of(row.action)
        together.setdefault(key, []).append(row)
    for group in together.values():
        for start in range(0, len(group), MOST_EVENTS):
            yield group[start : start + MOST_EVENTS]


def ingest_body(account: GoogleAdsAccount, rows: Sequence[Conversion], *, validate_only: bool) -> bytes:
    """Return the body for rows of one conversion action."""
    events = [event(row) for row in rows]
    body = {
        "destinations": [destination(account, account.action_of(rows[0].action))],
        "events": events,
        **({"encoding": "HEX"} if any("userData" in each for each in events) else {}),
        **({"validateOnly": True} if validate_only else {}),
    }
    return to_json(body)


def destination(account: GoogleAdsAccount, action: str) -> dict[str, Any]:
    login = account.login_customer_id
    return {
        "operatingAccount": {"accountType": "GOOGLE_ADS", "accountId": account.customer_id},
        **({"loginAccount": {"accountType": "GOOGLE_ADS", "accountId": login}} if login else {}),
        "productDestinationId": action.rpartition("/")[2],
    }


def event(row: Conversion) -> dict[str, Any]:
    sent = {
        "transactionId": row.order_id,
        # In UTC: the site's zone may be changed between two attempts.
        "eventTimestamp": row.conversion_time.astimezone(UTC).isoformat("T", "seconds").replace("+00:00", "Z"),
        "conversionValue": float(row.value),
        "currency": row.currency,
        "eventSource": row.event_source,
    }
    if kind := row.kind_of_click_id:
        sent["adIdentifiers"] = {kind: getattr(row, kind)}
    if row.hashed_email or row.hashed_phone:
        hashes = {"emailAddress": row.hashed_email, "phoneNumber": row.hashed_phone}
        sent["userData"] = {"userIdentifiers": [{name: stored} for name, stored in hashes.items() if stored]}
    if row.consent_ad_user_data in ANSWERED or row.consent_ad_personalization in ANSWERED:
        consents = {"adUserData": row.consent_ad_user_data, "adPersonalization": row.consent_ad_personalization}
        sent["consent"] = {name: f"CONSENT_{value}" for name, value in consents.items() if value in ANSWERED}
    return sent
