"""Stores conversions: the good ones when others are bad, each source key once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from django.db import connection

from kilit.lock.bulk_sql import bulk_insert
from kilit.workers import doorbells
from ociqueue.entry import Entry, read_entry
from ociqueue.models import Conversion, Site
from ociqueue.states import SyncMethod

Columns = dict[str, Any]


class FieldError(TypedDict):
    """What is wrong with a field."""

    field: str
    message: str


class Result(TypedDict, total=False):
    """What became of one conversion of a request."""

    index: int
    status: str
    id: str
    errors: list[FieldError]
    defaulted: dict[str, str]


@dataclass
class Report:
    """What became of a whole request, in its order."""

    results: list[Result] = field(default_factory=list)

    def count(self, status: str) -> int:
        return Counter(result["status"] for result in self.results)[status]


def enqueue(site: Site, raw: Iterable[Any], *, dry_run: bool = False) -> Report:
    """Check all, insert the good ones in one statement, and tell of each what became of it."""
    now = database_now()
    entries = [read_entry(item, site=site, now=now) for item in raw]
    good = [entry.columns for entry in entries if entry.columns]
    stored = known_ids(site, good) if dry_run else store(site, good)
    if good and not dry_run and site.sync_method == SyncMethod.API:
        doorbells.ring("oci_upload")
    return Report([_result(index, entry, stored, dry_run=dry_run) for index, entry in enumerate(entries)])


def store(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    """Insert what is new; return for each row the id it has in the table, its own or the earlier one's.

    The unique index decides, not a look before: of two requests with the same source key, one inserts. Both insert in
    the order of the keys, so that they wait for each other and never deadlock.
    """
    in_order = sorted(rows, key=lambda row: (row["action"], row["source_key"] or ""))
    created = bulk_insert(Conversion, in_order)
    return {pk: pk for pk in created} | known_ids(site, [row for row in rows if row["id"] not in created])


def known_ids(site: Site, rows: list[Columns]) -> dict[UUID, UUID]:
    """Return the ids of rows that are in the table already under the same source key."""
    wanted = {row["id"]: (row["action"], row["source_key"]) for row in rows if row["source_key"]}
    if not wanted:
        return {}
    found = Conversion.objects.for_site(site).filter(
        action__in={action for action, _ in wanted.values()},
        source_key__in={key for _, key in wanted.values()},
    )
    known = {(action, key): pk for action, key, pk in found.values_list("action", "source_key", "pk")}
    return {own: known[name] for own, name in wanted.items() if name in known}


def database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now


def _result(index: int, entry: Entry, stored: dict[UUID, UUID], *, dry_run: bool) -> Result:
    if entry.columns is None:
        named: list[FieldError] = [{"field": name, "message": text} for name, text in entry.errors.items()]
        return {"index": index, "status": "invalid", "errors": named}
    own = entry.columns["id"]
    earlier = stored.get(own, own) != own or (dry_run and own in stored)
    result: Result = {"index": index, "status": "duplicate" if earlier else "created"}
    if not dry_run or earlier:
        result["id"] = f"seal_{stored[own]}"
    if entry.defaulted:
        result["defaulted"] = entry.defaulted
    return result
