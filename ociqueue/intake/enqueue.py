"""How conversions come in: parse, check, insert or find by key, and say what became of each.

Valid ones are stored although others are invalid, and each source key once. A source key that comes again with the
same data is a duplicate; other data corrects the conversion where that is safe:

| the newest row of the key | other data |
|---|---|
| waits, and Google cannot have it | it gets the new values itself |
| FAILED, and Google cannot have it | a corrected copy is sent in its place |
| in flight, COMPLETED, unknown, or counted before | nothing changes; the result names the fields that differ |

The key stays with its first row (ociqueue.models.key); copies are found by their `replaces`. A source may send its old
data again and again: what a row said before it was corrected here is a duplicate, and undoes nothing. Whoever changes a
stored row, a source by its key or an operator by its id, makes a `ConversionChange` (ociqueue.intake.corrections).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from django.db import transaction

from kilit.api.input_model import UnknownFields
from kilit.lock.clock import database_time
from kilit.lock.fast_sql import bulk_insert
from kilit.lock.identity import uuid7s
from kilit.workers import doorbells
from ociqueue.codes.table import WITHHELD
from ociqueue.intake import corrections
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX, make_order_id
from ociqueue.models.key import KEYS, MADE_BY_IMPORT
from ociqueue.schemas.conversions import EMPTY, Columns, read_columns
from ociqueue.schemas.responses import ConversionResult
from ociqueue.states import UPLOADED_HERE, AdjustmentKind, ConversionStatus, EventSource

NO_CONSENT = Conversion.Consent.UNSPECIFIED


@dataclass(frozen=True)
class Redelivery:
    """What became of a second delivery: the newest row of its key, what differs, and the change that was made."""

    row: Conversion
    differs: list[str] = field(default_factory=list)
    change: corrections.ConversionChange | None = None  # none for a duplicate


def enqueue(site: Site, raw: Sequence[Any], *, dry_run: bool = False) -> list[ConversionResult]:
    now, unknown = database_time(), UnknownFields()
    inputs = [read_columns(site, item, now=now, unknown=unknown) for item in raw]
    valid = identify(site, [columns for columns in inputs if isinstance(columns, dict)])
    earlier_ids = known_ids(site, valid) if dry_run else store(site, valid)
    redeliveries = redeliver(site, valid, earlier_ids, dry_run=dry_run) if earlier_ids else {}
    if valid and not dry_run and site.sync_method in UPLOADED_HERE:
        doorbells.ring("oci_upload")
    return [
        {"index": index, "status": "invalid", "errors": columns}
        if isinstance(columns, list)
        else _result(site, index, item, columns, redeliveries, dry_run=dry_run)
        for index, (item, columns) in enumerate(zip(raw, inputs, strict=True))
    ]


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
    withheld = [row["id"] for row in rows if corrections.is_withheld(site, row)]
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
    keys = site.conversion_keys.with_source_keys(wanted.values())
    ids_by_name = {(action, key): pk for action, key, pk in keys.values_list("action", "source_key", "pk")}
    return {own: ids_by_name[name] for own, name in wanted.items() if name in ids_by_name}


def _result(
    site: Site,
    index: int,
    item: Mapping[str, object],
    columns: Columns,
    redeliveries: Mapping[UUID, Redelivery],
    *,
    dry_run: bool,
) -> ConversionResult:
    earlier = redeliveries.get(columns["id"]) if redeliveries else None
    result: ConversionResult = {"index": index, "status": "created"}
    if earlier:
        result |= cast("ConversionResult", _again(earlier, dry_run=dry_run))
    elif not dry_run:
        result["id"] = f"{PREFIX}{columns['id']}"
    stored = earlier.change and earlier.change.columns if earlier else columns
    if stored and corrections.is_withheld(site, stored):
        result |= {"state": ConversionStatus.FAILED, "errorCode": WITHHELD}
    if item.get("conversionCurrency") in EMPTY:
        result["defaulted"] = {"conversionCurrency": columns["currency"]}
    return result


def _again(earlier: Redelivery, *, dry_run: bool) -> dict[str, object]:
    change = earlier.change
    row = change.sent if change and not dry_run else earlier.row
    result: dict[str, Any] = {"status": "corrected" if change else "duplicate", "id": str(row)}
    if change and change.copy:
        result["replaces"] = str(earlier.row)
    if earlier.differs:
        result |= {"differs": earlier.differs, "state": row.status}
    return result


def redeliver(
    site: Site, deliveries: Iterable[Columns], earlier_ids: Mapping[UUID, UUID], *, dry_run: bool
) -> dict[UUID, Redelivery]:
    """Settle deliveries whose keys are stored; `earlier_ids` has the rows of the keys. Return results by own ids.

    A key that comes more than once is settled in turns: each delivery finds what the one before it left.
    """
    turns: list[dict[UUID, Columns]] = []
    for columns in deliveries:
        if keyed := earlier_ids.get(columns["id"]):
            turn = next((turn for turn in turns if keyed not in turn), None)
            if turn is None:
                turns.append(turn := {})
            turn[keyed] = columns
    results: dict[UUID, Redelivery] = {}
    for turn in turns:
        results |= {turn[keyed]["id"]: result for keyed, result in _settle(site, turn, dry_run=dry_run).items()}
    return results


def _settle(site: Site, deliveries: Mapping[UUID, Columns], *, dry_run: bool) -> dict[UUID, Redelivery]:
    results = {keyed: _compare(rows, deliveries[keyed]) for keyed, rows in versions(site, deliveries).items()}
    differing_keys = [keyed for keyed, result in results.items() if result.differs]
    if not differing_keys:  # usually: then nothing is locked
        return results
    with transaction.atomic():
        heads = _heads(site, differing_keys, lock=not dry_run)
        earlier = corrections.contents_before(heads.values())
        results |= {keyed: _plan(row, deliveries[keyed], earlier.get(row.pk, ())) for keyed, row in heads.items()}
        if not dry_run:
            corrections.store_changes(site, [result.change for result in results.values() if result.change])
    return results


def versions(site: Site, keyed: Iterable[UUID]) -> dict[UUID, list[Conversion]]:
    """Return the rows of each key, by the row that has it: that row, its copy, the copy of that copy and so on."""
    own = Conversion.objects.for_site(site)
    rows_by_key = {row.pk: [row] for row in own.filter(pk__any_of=list(keyed))}
    newest = {pk: versions[-1] for pk, versions in rows_by_key.items()}
    while replaced := {pk: row for pk, row in newest.items() if row.is_replaced}:
        copies = {copy.replaces_id: copy for copy in own.filter(replaces__in=[row.pk for row in replaced.values()])}
        newest = {pk: copies[row.pk] for pk, row in replaced.items() if row.pk in copies}  # old copies are pruned
        for pk, copy in newest.items():
            rows_by_key[pk].append(copy)
    return rows_by_key


def _heads(site: Site, keyed: Collection[UUID], *, lock: bool) -> dict[UUID, Conversion]:
    """Return the newest rows of keys; one that was replaced while we waited for its lock is no longer the newest."""
    while True:
        heads = {pk: versions[-1] for pk, versions in versions(site, keyed).items()}
        ids = [row.pk for row in heads.values()]
        rows = corrections.with_history(Conversion.objects.filter(pk__any_of=ids), lock=lock)
        if all(rows[row.pk].is_replaced == row.is_replaced for row in heads.values()):
            return {pk: rows[row.pk] for pk, row in heads.items()}


def _compare(versions: Sequence[Conversion], columns: Columns) -> Redelivery:
    *earlier, row = versions
    differs = corrections.differing(row, _kept(row, columns))
    is_old = differs and any(not corrections.differing(version, _kept(version, columns)) for version in earlier)
    return Redelivery(row, [] if is_old else differs)


def _plan(row: Conversion, columns: Columns, earlier: Collection[str]) -> Redelivery:
    delivery = _kept(row, columns)
    differs = [name for name in corrections.differing(row, delivery) if not _was_restated(row, delivery, name)]
    is_fixed = row.status == ConversionStatus.COMPLETED or corrections.may_be_counted(row) or corrections.why_not(row)
    if not differs or is_fixed:
        return Redelivery(row, differs)
    if _is_guess(row, delivery, differs) or corrections.digest_of(delivery) in earlier:
        return Redelivery(row, differs)
    return Redelivery(row, differs, corrections.change_row(row, delivery, differs))


def _kept(row: Conversion, columns: Columns) -> Columns:
    """Return what a delivery says, with the consents, hashes and source of the row where it says nothing.

    What a visitor denied stays denied until something else is said. An erased row is compared without what was erased.
    """
    kept = dict(columns)
    for name in ("consent_ad_user_data", "consent_ad_personalization"):
        if kept[name] == NO_CONSENT:
            kept[name] = getattr(row, name)
    if not kept["hashed_email"]:
        kept |= {"hashed_email": row.hashed_email, "hashed_email_ads": row.hashed_email_ads}
    for name in ("hashed_phone", "event_source"):
        kept[name] = kept[name] or getattr(row, name)
    if row.erased_at:
        kept |= {name: getattr(row, name) for name in (*Conversion.CLICK_IDS, *Conversion.HASHES)}
    return kept


def _was_restated(row: Conversion, delivery: Columns, name: str) -> bool:
    """Return whether the newest restatement, which Google has or will have, states this amount."""
    column = {"conversionValue": "value", "conversionCurrency": "currency"}.get(name)
    restated = [adjustment for adjustment in row.adjustments.all() if adjustment.kind == AdjustmentKind.RESTATEMENT]
    newest = next((adjustment for adjustment in restated if not adjustment.is_overtaken), None)
    return bool(column and newest and getattr(newest, column) == delivery[column])


def _is_guess(row: Conversion, delivery: Columns, differs: Collection[str]) -> bool:
    """Return whether a line of a file, without a key of its own, may be another conversion of the same click."""
    is_made = delivery["source_key"].startswith(MADE_BY_IMPORT)
    return is_made and ("conversionTime" in differs or row.status != ConversionStatus.FAILED)
