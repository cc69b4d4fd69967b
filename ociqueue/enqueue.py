"""Stores conversions: valid ones are stored although others are invalid, and each source key once."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from django.db import connection

from kilit.lock.bulk_sql import bulk_insert
from kilit.workers import doorbells
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.states import SyncMethod
from ociqueue.validation import ConversionInput, validate_conversion

Columns = dict[str, Any]


class FieldError(TypedDict):
    """An invalid field and the reason."""

    field: str
    message: str


class EnqueueResult(TypedDict, total=False):
    """The result for one conversion of a request."""

    index: int
    status: str
    id: str
    errors: list[FieldError]
    defaulted: dict[str, str]


def enqueue(site: Site, raw: Iterable[Any], *, dry_run: bool = False) -> list[EnqueueResult]:
    now = database_now()
    inputs = [validate_conversion(item, site=site, now=now) for item in raw]
    valid = [given.columns for given in inputs if given.columns]
    stored = known_ids(site, valid) if dry_run else store(site, valid)
    if valid and not dry_run and site.sync_method == SyncMethod.API:
        doorbells.ring("oci_upload")
    return [_result(index, given, stored, dry_run=dry_run) for index, given in enumerate(inputs)]


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


def _result(index: int, given: ConversionInput, stored: dict[UUID, UUID], *, dry_run: bool) -> EnqueueResult:
    if given.columns is None:
        errors: list[FieldError] = [{"field": name, "message": text} for name, text in given.errors.items()]
        return {"index": index, "status": "invalid", "errors": errors}
    own = given.columns["id"]
    is_duplicate = stored.get(own, own) != own or (dry_run and own in stored)
    result: EnqueueResult = {"index": index, "status": "duplicate" if is_duplicate else "created"}
    if not dry_run or is_duplicate:
        result["id"] = f"{PREFIX}{stored[own]}"
    if given.defaulted:
        result["defaulted"] = given.defaulted
    return result
