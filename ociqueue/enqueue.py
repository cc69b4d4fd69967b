"""Stores conversions: valid ones are stored although others are invalid, and each source key once."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired
from uuid import UUID

from django.db import connection
from typing_extensions import TypedDict

from kilit.api.messages import FieldError, InvalidMessage
from kilit.lock.bulk_sql import bulk_insert
from kilit.lock.identity import uuid7
from kilit.workers import doorbells
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas import EMPTY, ConversionId, NewConversion
from ociqueue.states import SyncMethod

Columns = dict[str, Any]


class ConversionResult(TypedDict):
    """The result for one conversion; `defaulted` lists fields that got the site's default."""

    index: int
    status: Literal["created", "duplicate", "invalid"]
    id: NotRequired[ConversionId]
    errors: NotRequired[list[FieldError]]
    defaulted: NotRequired[dict[str, str]]


def enqueue(site: Site, raw: Sequence[Any], *, dry_run: bool = False) -> list[ConversionResult]:
    now = database_now()
    inputs = [read_columns(site, item, now=now) for item in raw]
    valid = [columns for columns in inputs if isinstance(columns, dict)]
    stored = known_ids(site, valid) if dry_run else store(site, valid)
    if valid and not dry_run and site.sync_method == SyncMethod.API:
        doorbells.ring("oci_upload")
    return [
        _result(index, item, columns, stored, dry_run=dry_run)
        for index, (item, columns) in enumerate(zip(raw, inputs, strict=True))
    ]


def read_columns(site: Site, raw: Any, *, now: datetime) -> Columns | list[FieldError]:
    """Return the columns of a new row, or everything that is wrong with the conversion."""
    try:
        given = NewConversion.read(raw, context={"now": now, "currency": site.default_currency})
    except InvalidMessage as error:
        return error.errors
    pk = uuid7()
    return {
        "id": pk,
        "site_id": site.pk,
        "action": given.conversionName,
        "gclid": given.gclid or "",
        "wbraid": given.wbraid or "",
        "gbraid": given.gbraid or "",
        "conversion_time": given.conversionTime,
        "value": given.conversionValue,
        "currency": given.conversionCurrency,
        "order_id": make_order_id(site.pk, given.conversionName, given.sourceKey or str(pk)),
        "consent": given.consent,
        "source_key": given.sourceKey,
    }


def make_order_id(site: UUID, action: str, source: str) -> str:
    """Return the id by which Google counts a conversion once; `source` is the source key, or else the row's id."""
    text = "\n".join((str(site), action, source))
    return "oci_" + hashlib.sha256(text.encode()).hexdigest()[:40]


def store(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    """Insert new rows; return for each row its id in the table: its own, or that of an earlier delivery.

    The unique index decides, not a query before: of two requests with the same source key, one inserts. Both insert
    in the order of the keys, so that they wait for each other and never deadlock.
    """
    in_order = sorted(rows, key=lambda row: (row["action"], row["source_key"] or ""))
    created = bulk_insert(Conversion, in_order)
    return {pk: pk for pk in created} | known_ids(site, [row for row in rows if row["id"] not in created])


def known_ids(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    wanted = {row["id"]: (row["action"], row["source_key"]) for row in rows if row["source_key"]}
    if not wanted:
        return {}
    found = Conversion.objects.for_site(site).filter(
        action__in={action for action, _ in wanted.values()}, source_key__in={key for _, key in wanted.values()}
    )
    known = {(action, key): pk for action, key, pk in found.values_list("action", "source_key", "pk")}
    return {own: known[name] for own, name in wanted.items() if name in known}


def database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now


def _result(
    index: int, item: Any, columns: Columns | list[FieldError], stored: dict[UUID, UUID], *, dry_run: bool
) -> ConversionResult:
    if isinstance(columns, list):
        return {"index": index, "status": "invalid", "errors": columns}
    own = columns["id"]
    is_duplicate = stored.get(own, own) != own or (dry_run and own in stored)
    result: ConversionResult = {"index": index, "status": "duplicate" if is_duplicate else "created"}
    if not dry_run or is_duplicate:
        result["id"] = f"{PREFIX}{stored[own]}"
    if item.get("conversionCurrency") in EMPTY:
        result["defaulted"] = {"conversionCurrency": columns["currency"]}
    return result
