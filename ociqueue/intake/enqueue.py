"""Stores conversions: valid ones are stored although others are invalid, and each source key once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from pydantic import ValidationError

from kilit.api.input_model import FieldError, UnknownFields, field_errors
from kilit.lock.clock import database_time
from kilit.lock.fast_sql import bulk_insert
from kilit.lock.identity import uuid7s
from kilit.workers import doorbells
from ociqueue.intake.corrected_rows import Columns, is_withheld, make_order_id
from ociqueue.intake.redelivery import Redelivery, redeliver
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.key import KEYS
from ociqueue.schemas.answers import ConversionResult
from ociqueue.schemas.conversions import EMPTY, ConversionContext, NewConversion
from ociqueue.states import UPLOADED_HERE, WITHHELD, ConversionStatus, EventSource
from ociqueue.values.identifiers import HashedEmail

NO_HASHES: Mapping[str, str] = dict.fromkeys(Conversion.HASHES, "")


def enqueue(site: Site, raw: Sequence[Any], *, dry_run: bool = False) -> list[ConversionResult]:
    now, unknown = database_time(), UnknownFields()
    inputs = [read_columns(site, item, now=now, unknown=unknown) for item in raw]
    valid = identify(site, [columns for columns in inputs if isinstance(columns, dict)])
    known = known_ids(site, valid) if dry_run else store(site, valid)
    again = redeliver(site, valid, known, dry_run=dry_run) if known else {}
    if valid and not dry_run and site.sync_method in UPLOADED_HERE:
        doorbells.ring("oci_upload")
    return [
        {"index": index, "status": "invalid", "errors": columns}
        if isinstance(columns, list)
        else _result(site, index, item, columns, again, dry_run=dry_run)
        for index, (item, columns) in enumerate(zip(raw, inputs, strict=True))
    ]


def read_columns(
    site: Site,
    raw: object,
    *,
    now: datetime,
    hashes: Mapping[str, str] = NO_HASHES,
    unknown: UnknownFields | None = None,
) -> Columns | list[FieldError]:
    """Return the columns of a valid conversion, or everything that is wrong with it.

    A correction keeps the `hashes` of its row, unless it has others.
    """
    context: ConversionContext = {
        "now": now,
        "currency": site.default_currency,
        "accepts_identifiers": site.accepts_identifiers,
        "sends_hashes_alone": site.sync_method in UPLOADED_HERE,
        "has_hash": any(hashes.values()),
    }
    try:
        given = NewConversion.model_validate(raw, context=context)
    except ValidationError as error:
        return field_errors(error, NewConversion, unknown=unknown)
    return {
        "site_id": site.pk,
        "action": given.conversionName,
        "gclid": given.gclid or "",
        "wbraid": given.wbraid or "",
        "gbraid": given.gbraid or "",
        "conversion_time": given.conversionTime,
        "value": given.conversionValue,
        "currency": given.conversionCurrency,
        "consent_ad_user_data": given.consentAdUserData or given.consent,
        "consent_ad_personalization": given.consentAdPersonalization or given.consent,
        "event_source": given.eventSource,  # None if it was not said
        "source_key": given.sourceKey,
        **hashes,
        **_hashes(given),
    }


def _hashes(given: NewConversion) -> dict[str, str]:
    """Return the columns of the identifiers that a conversion has."""
    found: dict[str, str] = {}
    if email := given.email or (given.hashedEmail and HashedEmail(given.hashedEmail)):
        found |= {"hashed_email": email.data_manager, "hashed_email_ads": email.ads}
    if phone := given.phone or given.hashedPhone:
        found["hashed_phone"] = phone
    return found


def identify(site: Site, rows: list[Columns]) -> list[Columns]:
    """Give each row its id and order id, and return them in the order of their keys.

    Two requests with the same keys then insert in the same order, so they wait for each other and never deadlock; and
    ids that ascend in the order of the insert are quicker to index.
    """
    in_order = sorted(rows, key=lambda row: (row["action"], row["source_key"] or ""))
    owner = str(site.pk)
    for row, pk in zip(in_order, uuid7s(len(in_order)), strict=True):
        row["id"] = pk
        row["order_id"] = make_order_id(owner, row["action"], row["source_key"] or str(pk))
    return in_order


def store(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    """Insert new rows; return the ids of earlier deliveries, by the ids of the rows that were not inserted.

    The unique index of the keys decides, not a query before: of two requests with the same source key, one inserts.
    What the site does not send ends at once.
    """
    withheld = [row["id"] for row in rows if is_withheld(site, row)]
    with transaction.atomic():
        new = [row if row["event_source"] else {**row, "event_source": EventSource.WEB.value} for row in rows]
        rejected = bulk_insert(Conversion, new, keys=KEYS)
        if withheld:
            Conversion.objects.filter(pk__any_of=withheld).withhold()
    return known_ids(site, [row for row in rows if row["id"] in rejected]) if rejected else {}


def known_ids(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    wanted = {row["id"]: (row["action"], row["source_key"]) for row in rows if row["source_key"]}
    if not wanted:
        return {}
    found = site.conversion_keys.with_source_keys(wanted.values())
    known = {(action, key): pk for action, key, pk in found.values_list("action", "source_key", "pk")}
    return {own: known[name] for own, name in wanted.items() if name in known}


def _result(
    site: Site,
    index: int,
    item: Mapping[str, object],
    columns: Columns,
    again: Mapping[UUID, Redelivery],
    *,
    dry_run: bool,
) -> ConversionResult:
    earlier = again.get(columns["id"]) if again else None
    result: ConversionResult = {"index": index, "status": "created"}
    if earlier:
        result |= cast("ConversionResult", _again(earlier, dry_run=dry_run))
    elif not dry_run:
        result["id"] = f"{PREFIX}{columns['id']}"
    stored = earlier.stored if earlier else columns
    if stored and is_withheld(site, stored):
        result |= {"state": ConversionStatus.FAILED, "errorCode": WITHHELD}
    if item.get("conversionCurrency") in EMPTY:
        result["defaulted"] = {"conversionCurrency": columns["currency"]}
    return result


def _again(earlier: Redelivery, *, dry_run: bool) -> dict[str, object]:
    """Return the result of a source key that was stored before."""
    row = earlier.row if dry_run else earlier.copy or earlier.row
    status = "corrected" if earlier.is_correction else "duplicate"
    result: dict[str, Any] = {"status": status, "id": str(row)}
    if earlier.copy:
        result["replaces"] = str(earlier.row)
    if earlier.differs:
        result |= {"differs": earlier.differs, "state": row.status}
    return result
