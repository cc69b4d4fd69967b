"""Adjustments through the Data Manager API: the conversion's event again, with another value.

Google knows the conversion by transaction id and action, overwrites its value and currency, and counts it once. It has
no retraction here, so the value of a retracted conversion becomes 0, and the timeline says that it still counts.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from ociqueue.models import Adjustment, Conversion
from ociqueue.states import Category
from ociqueue.uploader.datamanager.provider import DataManager
from ociqueue.uploader.results import Disposition, Identities, RowResult, Verdict

ERASED = RowResult(
    Disposition.FATAL,
    "ORIGINAL_ERASED",
    Category.PERMANENT,
    "What identifies the conversion was erased, so it cannot be adjusted. Nothing was sent.",
)
NOT_ADJUSTED = "Google has counted the conversion and does not take the new value."


class DataManagerAdjustments(DataManager):
    def identities(self, row: Any) -> Identities:
        return {("order", row.order_id)}

    def upload(self, batch: Sequence[Any], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        """Send adjustments as events of their conversions; those without an identifier fail and are not sent."""
        events = [event for event in as_conversions(batch) if has_identifier(event)]
        answers = super().upload(events, dry_run=dry_run, job_id=job_id)
        found = dict(zip((event.pk for event in events), answers, strict=True))
        return [_noted(row, found.get(row.pk, ERASED)) for row in batch]

    def verdict(self, request_id: str, rows: Sequence[Any]) -> Verdict:
        verdict = super().verdict(request_id, rows)
        return replace(verdict, results=[without_duplicate(result) for result in verdict.results])


def as_conversions(adjustments: Sequence[Adjustment]) -> list[Conversion]:
    """Return the conversions as they are sent again: each with the id and the value of its adjustment."""
    originals = Conversion.objects.filter(pk__any_of={row.original_id for row in adjustments})
    by_id = {original.pk: original for original in originals}
    return [_restated(by_id[row.original_id], row) for row in adjustments]


def _restated(original: Conversion, adjustment: Adjustment) -> Conversion:
    event = copy(original)
    event.pk, event.send_alone = adjustment.pk, adjustment.send_alone
    event.value = adjustment.value or 0
    event.currency = adjustment.currency or original.currency
    return event


def has_identifier(event: Conversion) -> bool:
    return bool(event.click_id or event.hashed_email or event.hashed_phone)


def _noted(row: Adjustment, result: RowResult) -> RowResult:
    is_sent = result.disposition != Disposition.UNSENT and result is not ERASED
    return replace(result, sent_as_zero=True) if row.is_retraction and is_sent else result


def without_duplicate(result: RowResult) -> RowResult:
    """Return a result in which "already there" is no success: the conversion is there, whatever its value is."""
    if result.disposition != Disposition.DUPLICATE:
        return result
    return replace(result, disposition=Disposition.FATAL, message=f"{NOT_ADJUSTED} {result.message}")
