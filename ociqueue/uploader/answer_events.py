"""Events beside those of the moves: warnings, retractions sent as 0, and answers for rows that were taken back."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from kilit.lock.models import Event
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.uploader.results import Groups, RowResult, ids_of

Rows = UploadableQuerySet[Any]
SENT_AS_ZERO = (
    "The Data Manager API has no retraction: the value was sent as 0, and Google still counts the conversion. With a"
    " developer token in the site's connection, retractions go through the Google Ads API."
)


def note_warnings(batch: UUID, groups: Groups, *, among: Rows) -> None:
    """Record what the provider ignored in rows that it took."""
    by_text: dict[tuple[str, ...], list[UUID]] = defaultdict(list)
    for result, rows in groups:
        if result.warnings:
            by_text[result.warnings] += ids_of(rows)
    for texts, ids in by_text.items():
        details = {"batch": str(batch), "warnings": list(texts)}
        Event.objects.record_each(among.filter(pk__any_of=ids), "PROVIDER_WARNING", details=details)


def note_zeros(groups: Groups, *, among: Rows) -> None:
    """Record on retractions that they were sent as a value of 0."""
    ids = [pk for result, rows in groups if result.sent_as_zero for pk in ids_of(rows)]
    if ids:
        Event.objects.record_each(among.filter(pk__any_of=ids), "SENT_AS_ZERO", message=SENT_AS_ZERO)


def note_rest(batch: UUID, groups: Groups, settled: Sequence[Collection[UUID]], *, among: Rows) -> int:
    """Record the answers for all rows but these: they were taken back meanwhile; return how many there are."""
    late = sum(len(rows) for _, rows in groups) - sum(len(ids) for ids in settled)
    if late:
        done = {pk for ids in settled for pk in ids}
        answers = {pk: result for result, rows in groups for pk in ids_of(rows) if pk not in done}
        note_late(batch, answers, among=among)
    return late


def note_late(batch: UUID, results: Mapping[UUID, RowResult], *, among: Rows) -> None:
    """Record what the provider answered for rows that were taken back meanwhile."""
    by_answer: dict[tuple[str, str, str], list[UUID]] = defaultdict(list)
    for pk, result in results.items():
        by_answer[result.disposition, result.code, result.message].append(pk)
    for (disposition, code, text), ids in by_answer.items():
        details = {"batch": str(batch), "answer": disposition, "request_id": results[ids[0]].request_id}
        details |= {"code": code} if code else {}
        rows = list(among.filter(pk__any_of=ids))
        # The answer may quote what was erased meanwhile.
        erased = [row for row in rows if getattr(row, "erased_at", None)]
        Event.objects.record_each(
            [row for row in rows if row not in erased], "LATE_ANSWER", message=text, details=details
        )
        Event.objects.record_each(erased, "LATE_ANSWER", details=details)
