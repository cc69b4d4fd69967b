"""Stores adjustments: the conversion is locked, so its adjustments follow each other.

The newest adjustment of a conversion counts, because it states the whole value: older ones that wait are overtaken. A
retraction is the last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import ValidationError

from kilit.api.input_model import FieldError, UnknownFields, field_errors, format_error
from kilit.lock.clock import database_time
from kilit.workers import doorbells
from ociqueue.intake.enqueue import versions
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.adjustment import AdjustmentQuerySet
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.adjustments import NewAdjustment
from ociqueue.schemas.conversions import too_many_digits
from ociqueue.schemas.responses import AdjustmentResult
from ociqueue.states import UPLOADED_HERE, WAITING, AdjustmentKind, ConversionStatus

ADJUSTABLE_FOR = timedelta(days=54)  # after the conversion; Google refuses later adjustments
ReadItem = NewAdjustment | list[FieldError]


@dataclass
class History:
    """A conversion with its adjustments, oldest first, with those of this request."""

    original: Conversion
    adjustments: list[Adjustment] = field(default_factory=list)
    new: list[Adjustment] = field(default_factory=list)

    def add(self, adjustment: Adjustment) -> None:
        for older in self.adjustments:
            older.is_overtaken = True
        self.adjustments.append(adjustment)
        self.new.append(adjustment)


def adjust(site: Site, raw: Sequence[object], *, dry_run: bool = False) -> list[AdjustmentResult]:
    """Store adjustments and return a result for each; valid ones are stored although others are invalid."""
    unknown = UnknownFields()
    items = [read_adjustment(item, unknown=unknown) for item in raw]
    if dry_run:
        return Entry(site, items, lock=False).results(dry_run=True)
    while True:
        try:
            with transaction.atomic():
                entry = Entry(site, items, lock=True)
                entry.store()
        except IntegrityError:
            # Another request stored one with the same key, for another conversion; now it is found.
            known = {one.pk for one in entry.by_key.values()}
            if all(one.pk in known for one in entry.with_keys()):
                raise
            continue
        if entry.new and site.sync_method in UPLOADED_HERE:
            doorbells.ring("oci_upload")
        return entry.results(dry_run=False)


def read_adjustment(raw: Any, *, unknown: UnknownFields | None = None) -> ReadItem:
    try:
        return NewAdjustment.model_validate(raw)
    except ValidationError as error:
        return field_errors(error, NewAdjustment, unknown=unknown)


class Entry:
    """The conversions that a request names, locked until the transaction ends, and what becomes of each item."""

    def __init__(self, site: Site, items: Sequence[ReadItem], *, lock: bool) -> None:
        self.site, self.now = site, database_time()
        valid = [item for item in items if isinstance(item, NewAdjustment)]
        named = find_originals(site, valid)
        self.versions = self._lock(named) if lock else versions(site, named)
        self.histories = {row.pk: History(row) for rows in self.versions.values() for row in rows}
        for adjustment in Adjustment.objects.filter(original__in=list(self.histories)).order_by("adjusted_at"):
            self.histories[adjustment.original_id].adjustments.append(adjustment)
        self.keys = {item.own_key for item in valid if item.own_key}
        self.by_key = {one.source_key: one for one in self.with_keys()}
        self.plans = [self._plan(item) if isinstance(item, NewAdjustment) else item for item in items]

    def _lock(self, named: set[UUID]) -> dict[UUID, list[Conversion]]:
        """Lock conversions and their corrected copies; a copy may be made while we wait, and not after."""
        ids = {row.pk for rows in versions(self.site, named).values() for row in rows}
        while True:
            Conversion.objects.filter(pk__any_of=ids).lock_in_order()
            Adjustment.objects.filter(original__in=list(ids)).lock_in_order()
            # Only now: a query that waits for a lock sees other rows as they were before it waited.
            rows_by_id = versions(self.site, named)
            new_ids = {row.pk for rows in rows_by_id.values() for row in rows} - ids
            if not new_ids:
                return rows_by_id
            ids |= new_ids

    @property
    def new(self) -> list[Adjustment]:
        return [adjustment for history in self.histories.values() for adjustment in history.new]

    def with_keys(self) -> AdjustmentQuerySet:
        return Adjustment.objects.for_site(self.site).filter(source_key__in=self.keys)

    def _plan(self, item: NewAdjustment) -> Adjustment | list[FieldError]:
        original = self.original_of(item)
        if isinstance(original, list):
            return original
        history = self.histories[original.pk]
        currency = item.currency or (original.currency if item.kind == AdjustmentKind.RESTATEMENT else "")
        content = (original.pk, item.kind, item.value, currency)
        if item.own_key and (earlier := self.by_key.get(item.own_key)):
            is_same = _content(earlier) == content
            return earlier if is_same else _error("sourceKey", _("It was used for another adjustment."))
        newest = history.adjustments[-1] if history.adjustments else None
        if newest and not item.own_key and _content(newest) == content and not _may_repeat(newest):
            return newest
        if errors := self._refusal(item, original, history, currency):
            return errors
        adjustment = Adjustment(
            site=self.site,
            original=original,
            kind=item.kind,
            action=original.action,
            order_id=original.order_id,
            value=item.value,
            currency=currency,
            adjusted_at=self._next_time(history),
            source_key=item.own_key,
        )
        history.add(adjustment)
        if item.own_key:
            self.by_key[item.own_key] = adjustment
        return adjustment

    def store(self) -> None:
        """Insert what is new, mark what it overtakes, and end at once what will not be sent."""
        changed = [history for history in self.histories.values() if history.new]
        if not changed:
            return
        originals = [history.original.pk for history in changed]
        new = {adjustment.pk for adjustment in self.new}
        older = [one.pk for history in changed for one in history.adjustments if one.pk not in new]
        # Oldest first: the database lets none be inserted before another of the same conversion.
        Adjustment.objects.bulk_create(sorted(self.new, key=lambda one: one.adjusted_at))
        Adjustment.objects.filter(pk__any_of=older).update(is_overtaken=True)
        retracted = [history.original.pk for history in changed if history.adjustments[-1].is_retraction]
        Conversion.objects.filter(pk__any_of=retracted).update(is_retracted=True)
        Adjustment.objects.filter(original__in=originals).end_unsendable()

    def results(self, *, dry_run: bool) -> list[AdjustmentResult]:
        new = {one.pk for one in self.new}
        planned = [plan.pk for plan in self.plans if isinstance(plan, Adjustment)]
        # As they are now: some have ended at once.
        states = dict(Adjustment.objects.filter(pk__any_of=planned).values_list("pk", "status"))
        results: list[AdjustmentResult] = []
        for index, plan in enumerate(self.plans):
            if not isinstance(plan, Adjustment):
                results.append({"index": index, "status": "invalid", "errors": plan})
                continue
            result: AdjustmentResult = {"index": index, "status": "created" if plan.pk in new else "duplicate"}
            new.discard(plan.pk)  # the same again in this request is a duplicate
            stored: Any = {"id": str(plan), "state": states[plan.pk]} if plan.pk in states else {}
            results.append({**result, **stored, "conversionId": f"{PREFIX}{plan.original_id}"})
        return results

    def original_of(self, item: NewAdjustment) -> Conversion | list[FieldError]:
        name, chains = self._chains(item)
        if item.conversionName:
            # A correction may have changed the name: the shop knows the old one or the new one.
            chains = [rows for rows in chains if any(row.action == item.conversionName for row in rows)]
        matches = [rows[-1] for rows in chains]
        current = [row for row in matches if not row.is_replaced]
        if len(current) == 1:
            return current[0]
        if current:
            return _error("conversionName", _("Conversions of several names have this source key; say which."))
        if matches:
            return _error(name, _("The conversion was replaced by a corrected copy; adjust the copy."))
        return _error(name, _("There is no such conversion at this site."))

    def _chains(self, item: NewAdjustment) -> tuple[str, list[list[Conversion]]]:
        """Return the conversions that match; a source key means the newest corrected copy, as in lookups."""
        originals = [history.original for history in self.histories.values()]
        if item.id is not None:
            return "id", [[row] for row in originals if row.pk == item.id]
        if item.orderId is not None:
            return "orderId", [[row] for row in originals if row.order_id == item.orderId]
        name = "sourceKey" if item.conversionSourceKey is None else "conversionSourceKey"
        return name, [rows for rows in self.versions.values() if rows[0].source_key == item.key_of_conversion]

    def _refusal(self, item: NewAdjustment, original: Conversion, history: History, currency: str) -> list[FieldError]:
        # The mark on the conversion stays when its retraction is pruned.
        if original.is_retracted or any(one.is_retraction for one in history.adjustments):
            return _error("kind", _("The conversion was retracted; nothing can follow a retraction."))
        if original.conversion_time < self.now - ADJUSTABLE_FOR:
            days = ADJUSTABLE_FOR.days
            return _error("", _("The conversion is more than %(days)s days old; Google adjusts none.") % {"days": days})
        if original.erased_at:
            return _error("", _("What identifies the conversion was erased, so it cannot be adjusted."))
        if item.value is not None and (fault := too_many_digits(item.value, currency)):
            return _error("value", fault)
        # Nothing has to be sent if Google cannot have the conversion.
        is_retraction = item.kind == AdjustmentKind.RETRACTION
        ends_here = is_retraction and original.status in WAITING and not original.outcome_unknown
        if self.site.sync_method not in UPLOADED_HERE and not ends_here:
            return _error("", _("The site's script cannot send adjustments: switch the site to an API."))
        return []

    def _next_time(self, history: History) -> datetime:
        """Return the time of a new adjustment: Google counts seconds, and ignores one that is not later."""
        earliest = [history.original.conversion_time, *(one.adjusted_at for one in history.adjustments)]
        later = max(earliest).astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
        return max(self.now.astimezone(UTC).replace(microsecond=0), later)


def find_originals(site: Site, items: Sequence[NewAdjustment]) -> set[UUID]:
    """Return the ids of the conversions that adjustments may name; texts are found in any case."""
    ids = [item.id for item in items if item.id]
    originals = set(Conversion.objects.for_site(site).filter(pk__any_of=ids).values_list("pk", flat=True))
    keys = site.conversion_keys.all()
    by_text = {
        "order_id": [item.orderId for item in items if item.orderId],
        "source_key": [key for item in items if (key := item.key_of_conversion)],
    }
    for column, texts in by_text.items():
        originals.update(keys.with_texts(column, texts).values_list("pk", flat=True) if texts else ())
    return originals


def _content(adjustment: Adjustment) -> tuple[object, ...]:
    return adjustment.original_id, adjustment.kind, adjustment.value, adjustment.currency


def _may_repeat(adjustment: Adjustment) -> bool:
    """Return whether the same adjustment again is a new one: the first failed, and is no retraction."""
    return adjustment.status == ConversionStatus.FAILED and not adjustment.is_retraction


def _error(name: str, message: str) -> list[FieldError]:
    return [{"field": name, "message": message}]


def newest_of(row: Conversion) -> Adjustment | None:
    return Adjustment.objects.filter(original=row.pk).order_by("-adjusted_at").first()


@transaction.atomic
def adjust_after(row: Conversion, item: Mapping[str, object], *, newest: str) -> AdjustmentResult:
    """Add an adjustment, unless another was added after the `newest` that its author saw; twice the same is one."""
    named = {"id": str(row), **item}
    Conversion.objects.filter(pk=row.pk).lock_in_order()
    if str(newest_of(row) or "") != newest:
        (result,) = adjust(row.site, [named], dry_run=True)
        if result["status"] == "created":
            changed = _("It was adjusted meanwhile. Look at its page, then begin again.")
            return {"index": 0, "status": "invalid", "errors": [{"field": "", "message": changed}]}
    (result,) = adjust(row.site, [named])
    return result


def in_force(row: Conversion, newest: Adjustment | None) -> Any:
    """Return what has the value that is in force, or will be: the newest restatement that did not fail."""
    is_in_force = newest and newest.value is not None and newest.status != ConversionStatus.FAILED
    return newest if is_in_force else row


def trial(row: Conversion, kind: AdjustmentKind) -> dict[str, object]:
    return {"id": str(row), "kind": kind, **({"value": 0} if kind == AdjustmentKind.RESTATEMENT else {})}


def why_not_adjust(row: Conversion, kind: AdjustmentKind) -> str:
    if row.status == ConversionStatus.FAILED:
        return _("The conversion failed, so there is nothing to adjust.")
    (result,) = adjust(row.site, [trial(row, kind)], dry_run=True)
    if result["status"] == "duplicate" and kind == AdjustmentKind.RETRACTION:
        return _("It was retracted already.")
    return "; ".join(map(format_error, result.get("errors", [])))
