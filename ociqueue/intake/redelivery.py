"""A source key that comes again: the same data is a duplicate, other data corrects the conversion where that is safe.

| the newest row of the key | other data |
|---|---|
| waits, and Google cannot have it | it gets the new values itself |
| FAILED, and Google cannot have it | a corrected copy is sent in its place |
| in flight, COMPLETED, unknown, or counted before | nothing changes; the answer names the fields that differ |

The key stays with its first row (ociqueue.models.key); copies are found by their `replaces`. A source may send its old
data again and again: what a row said before it was corrected here is a duplicate, and undoes nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from ociqueue.intake.corrected_rows import (
    COLUMNS,
    Columns,
    Edit,
    contents_before,
    differing,
    digest_of,
    locked,
    make_copy,
    may_be_counted,
    store_corrections,
    why_not,
    with_history,
)
from ociqueue.models import Conversion, Site
from ociqueue.models.key import MADE_BY_IMPORT
from ociqueue.states import AdjustmentKind, ConversionStatus

NO_CONSENT = Conversion.Consent.UNSPECIFIED


@dataclass(frozen=True)
class Redelivery:
    """What became of a second delivery: the newest row of its key, what differs, and the change that was made."""

    row: Conversion
    differs: list[str] = field(default_factory=list)
    copy: Conversion | None = None
    edit: Edit | None = None

    @property
    def is_correction(self) -> bool:
        return bool(self.copy or self.edit)

    @property
    def stored(self) -> Columns:
        """What was stored, or would be; nothing for a duplicate."""
        if self.copy:
            return vars(self.copy)
        return self.edit.columns if self.edit else {}


def redeliver(
    site: Site, deliveries: Iterable[Columns], known: Mapping[UUID, UUID], *, dry_run: bool
) -> dict[UUID, Redelivery]:
    """Settle deliveries whose keys are stored; `known` has the rows of the keys. Return the results by their own ids.

    A key that comes more than once is settled in turns: each delivery finds what the one before it left.
    """
    turns: list[dict[UUID, Columns]] = []
    for columns in deliveries:
        if keyed := known.get(columns["id"]):
            turn = next((turn for turn in turns if keyed not in turn), None)
            if turn is None:
                turns.append(turn := {})
            turn[keyed] = columns
    found: dict[UUID, Redelivery] = {}
    for turn in turns:
        found |= {turn[keyed]["id"]: result for keyed, result in _settle(site, turn, dry_run=dry_run).items()}
    return found


def _settle(site: Site, given: Mapping[UUID, Columns], *, dry_run: bool) -> dict[UUID, Redelivery]:
    rows = versions(site, given)
    found = {keyed: _compare(versions, given[keyed]) for keyed, versions in rows.items()}
    differing_keys = [keyed for keyed, result in found.items() if result.differs]
    if not differing_keys:  # as mostly: nothing is locked
        return found
    with transaction.atomic():
        heads = _with_history(rows, differing_keys) if dry_run else _locked(site, differing_keys)
        earlier = contents_before(heads.values())
        found |= {keyed: _plan(row, given[keyed], earlier.get(row.pk, ())) for keyed, row in heads.items()}
        if not dry_run:
            copies = [result.copy for result in found.values() if result.copy]
            store_corrections(site, copies, [result.edit for result in found.values() if result.edit])
    return found


def versions(site: Site, keyed: Iterable[UUID]) -> dict[UUID, list[Conversion]]:
    """Return the rows of each key, by the row that has it: that row, its copy, the copy of that copy and so on."""
    own = Conversion.objects.for_site(site)
    found = {row.pk: [row] for row in own.filter(pk__any_of=list(keyed))}
    newest = {pk: versions[-1] for pk, versions in found.items()}
    while replaced := {pk: row for pk, row in newest.items() if row.is_replaced}:
        copies = {copy.replaces_id: copy for copy in own.filter(replaces__in=[row.pk for row in replaced.values()])}
        newest = {pk: copies[row.pk] for pk, row in replaced.items() if row.pk in copies}  # old copies are pruned
        for pk, copy in newest.items():
            found[pk].append(copy)
    return found


def _locked(site: Site, keyed: Collection[UUID]) -> dict[UUID, Conversion]:
    """Lock the newest rows of keys; one that was replaced while we waited is no longer the newest."""
    while True:
        heads = {pk: versions[-1] for pk, versions in versions(site, keyed).items()}
        rows = {row.pk: row for row in locked(_rows(heads.values()))}
        if all(rows[row.pk].is_replaced == row.is_replaced for row in heads.values()):
            return {pk: rows[row.pk] for pk, row in heads.items()}


def _with_history(rows: Mapping[UUID, list[Conversion]], keyed: Collection[UUID]) -> dict[UUID, Conversion]:
    heads = {pk: rows[pk][-1] for pk in keyed}
    found = {row.pk: row for row in with_history(_rows(heads.values()))}
    return {pk: found[row.pk] for pk, row in heads.items()}


def _rows(rows: Iterable[Conversion]) -> Any:
    return Conversion.objects.filter(pk__any_of=[row.pk for row in rows])


def _compare(versions: Sequence[Conversion], columns: Columns) -> Redelivery:
    *earlier, row = versions
    differs = differing(row, _kept(row, columns))
    is_old = differs and any(not differing(version, _kept(version, columns)) for version in earlier)
    return Redelivery(row, [] if is_old else differs)


def _plan(row: Conversion, columns: Columns, earlier: Collection[str]) -> Redelivery:
    given = _kept(row, columns)
    differs = [name for name in differing(row, given) if not _was_restated(row, given, name)]
    if not differs or row.status == ConversionStatus.COMPLETED or may_be_counted(row) or why_not(row):
        return Redelivery(row, differs)
    if _is_guess(row, given, differs) or digest_of(given) in earlier:
        return Redelivery(row, differs)
    if row.status == ConversionStatus.FAILED:
        return Redelivery(row, differs, copy=make_copy(row, given))
    return Redelivery(row, differs, edit=Edit(row, {name: given[name] for name in COLUMNS}, differs))


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


def _was_restated(row: Conversion, given: Columns, name: str) -> bool:
    """Return whether an amount is that of the newest restatement, which Google has or will have."""
    column = {"conversionValue": "value", "conversionCurrency": "currency"}.get(name)
    restated = [each for each in row.adjustments.all() if each.kind == AdjustmentKind.RESTATEMENT]
    newest = next((each for each in restated if not each.is_overtaken), None)
    return bool(column and newest and getattr(newest, column) == given[column])


def _is_guess(row: Conversion, given: Columns, differs: Collection[str]) -> bool:
    """Return whether a line of a file, without a key of its own, may be another conversion of the same click."""
    is_made = given["source_key"].startswith(MADE_BY_IMPORT)
    return is_made and ("conversionTime" in differs or row.status != ConversionStatus.FAILED)
