"""Writes the answer to an upload: one statement for each kind of result, matched on the claim."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.lock.text import strip_control_chars
from ociqueue.models import Receipt, UploadBatch
from ociqueue.models.per_row import PerRowValues
from ociqueue.models.receipt import FIRST_CHECK_AFTER
from ociqueue.models.sending import UploadableQuerySet, failure
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category
from ociqueue.uploader.meanings import after_defer
from ociqueue.uploader.results import GATES, UPLOADER_ERROR, Disposition, RowResult

TOO_EARLY_AFTER = timedelta(hours=6)  # what Google asks for when a click or an action is too recent
ALREADY_THERE = "Google has it already: the answer to an earlier upload was lost."
SENT_AS_ZERO = (
    "The Data Manager API has no retraction: the value was sent as 0, and Google still counts the conversion. With a"
    " developer token in the site's connection, retractions go through the Google Ads API."
)
ATTEMPT_FORGIVEN = (*GATES, Disposition.UNSENT)
PUT_OFF = (Disposition.RETRY, Disposition.DEFER, *ATTEMPT_FORGIVEN)
RowResults = list[tuple[Uploadable, RowResult]]
Rows = UploadableQuerySet[Any]


@dataclass
class UploadTally:
    accepted: int = 0
    received: int = 0
    failed: int = 0
    put_off: int = 0
    late: int = 0
    batches: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        taken = f"{self.accepted}, waiting for the verdict {self.received}" if self.received else f"{self.accepted}"
        summary = f"Uploaded {taken}, failed {self.failed}, deferred {self.put_off} in {batches}."
        return " ".join([summary, *([f"Too late for {self.late}."] if self.late else []), *self.notes])

    def add(self, other: "UploadTally") -> None:
        for name in ("accepted", "received", "failed", "put_off", "late", "batches", "notes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def settle(
    batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult], *, is_probe: bool = False
) -> UploadTally:
    """Move each row by its result; rows taken back meanwhile are skipped, with an event.

    An answer is settled once, so a caller who lost the connection on the way may call again.
    """
    with transaction.atomic():
        tally = _move(batch, rows, results, is_probe=is_probe)
        # Last, because `take_back` locks rows first and then their upload, too.
        is_first = UploadBatch.objects.mark_answered(
            batch,
            accepted=tally.accepted,
            received=tally.received,
            failed=tally.failed,
            put_off=F("put_off") + tally.put_off,
            late=tally.late,
            by_action=count_by_action(rows, results),
            answered_job_id=next((result.job_id for result in results if result.job_id is not None), None),
            is_lost=is_lost(results),
            request_id=next((result.request_id for result in results if result.request_id), "")[:64],
            note=_note(results),
        )
        if not is_first:
            transaction.set_rollback(True)
    stored = UploadBatch.objects.get(pk=batch)
    return UploadTally(stored.accepted, stored.received, stored.failed, stored.put_off, stored.late, batches=1)


def rows_like(rows: Sequence[Uploadable]) -> Rows:
    """Return all rows of the queue that these are of."""
    found: Rows = type(rows[0])._default_manager.all()  # type: ignore[assignment]
    return found


def put_back(batch: UUID, rows: Sequence[Uploadable], result: RowResult) -> None:
    """Release rows that an upload does not send; call it before the upload is marked as sent."""
    if not rows:
        return
    with transaction.atomic():
        errors = error_values([(row, result) for row in rows], is_probe=False)
        released = rows_like(rows).in_batch(batch).put_off(errors)
        count = len(released)
        UploadBatch.objects.filter(pk=batch).update(put_off=F("put_off") + count, unsent=F("unsent") + count)


def count_by_action(rows: Sequence[Uploadable], results: Sequence[RowResult]) -> dict[str, dict[str, int]]:
    """Count what the provider answered by conversion name, as the provider counts it in its own summaries.

    This is not what became of the rows: one that is too recent fails at Google and is deferred here.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, result in zip(rows, results, strict=True):
        if kind := _counted_as(result):
            counts[row.action][kind] += 1
    return {action: dict(found) for action, found in counts.items()}


def _counted_as(result: RowResult) -> str:
    if result.disposition == Disposition.RECEIVED:
        return "received"
    if result.ambiguous:
        return "unknown"
    if result.job_id is None:
        return ""  # the request was refused as a whole: no row of it was processed
    return "accepted" if result.disposition == Disposition.ACCEPTED else "failed"


def _move(batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult], *, is_probe: bool) -> UploadTally:
    held = rows_like(rows).in_batch(batch)
    by_kind: dict[str, RowResults] = defaultdict(list)
    for row, answer in zip(rows, results, strict=True):
        result = after_defer(row, answer)
        by_kind[kind_of(row, result)].append((row, result))
    accepted, already_there = by_kind["accepted"], by_kind["already_there"]
    received, rejected, put_off = by_kind["received"], by_kind["rejected"], by_kind["put_off"]
    if max(len(accepted), len(received)) < len(rows):  # a single statement locks its rows in order anyway
        held.lock_in_order()
    moved = held.accept(_request_ids(accepted)) if accepted else set()
    if already_there:
        with for_reason(ALREADY_THERE):
            moved |= held.accept(_request_ids(already_there))
    taken = _receive(batch, held, received) if received else set()
    failed = held.refuse(error_values(rejected, is_probe=is_probe)) if rejected else set()
    waiting = held.put_off(error_values(put_off, is_probe=is_probe)) if put_off else set()
    capped = rows_like(rows).filter(pk__any_of=waiting).cap() if waiting else 0
    settled = moved | taken | failed | waiting
    late = len(rows) - len(settled)
    if late:
        answers = {row.pk: result for row, result in zip(rows, results, strict=True) if row.pk not in settled}
        note_late(batch, answers, among=rows_like(rows))
    note_zeros(rows, results)
    return UploadTally(len(moved), len(taken), len(failed) + capped, len(waiting) - capped, late, batches=1)


def _receive(batch: UUID, held: Rows, received: RowResults) -> AbstractSet[UUID]:
    """Store a receipt for each request, also with rows that were taken back: the verdict names places in it."""
    requests: dict[str, list[UUID]] = defaultdict(list)
    for row, result in received:
        requests[result.request_id[:64]].append(row.pk)
    first_check = Now() + FIRST_CHECK_AFTER
    Receipt.objects.bulk_create(
        Receipt(batch_id=batch, request_id=request_id, row_ids=ids, next_check_at=first_check)
        for request_id, ids in requests.items()
    )
    taken = held.receive(_request_ids(received))
    warned = [(row.pk, result.warnings) for row, result in received if result.warnings]
    if warned:
        note_warnings(batch, dict(warned), among=held.model.objects.all())
    return taken


def note_warnings(batch: UUID, warnings: Mapping[UUID, tuple[str, ...]], *, among: Rows) -> None:
    """Record what the provider ignored in rows that it took."""
    by_text: dict[tuple[str, ...], list[UUID]] = defaultdict(list)
    for pk, texts in warnings.items():
        by_text[texts].append(pk)
    for texts, ids in by_text.items():
        details = {"batch": str(batch), "warnings": list(texts)}
        Event.objects.record_each(among.filter(pk__any_of=ids), "PROVIDER_WARNING", details=details)


def note_zeros(rows: Sequence[Uploadable], results: Sequence[RowResult]) -> None:
    """Record on retractions that they were sent as a value of 0."""
    ids = [row.pk for row, result in zip(rows, results, strict=True) if result.sent_as_zero]
    if ids:
        Event.objects.record_each(rows_like(rows).filter(pk__any_of=ids), "SENT_AS_ZERO", message=SENT_AS_ZERO)


def kind_of(row: Uploadable, result: RowResult) -> str:
    if result.disposition == Disposition.ACCEPTED:
        return "accepted"
    if result.disposition == Disposition.RECEIVED:
        return "received"
    # As it was when the row was claimed: since then it is unknown for every row of the batch.
    if result.disposition == Disposition.DUPLICATE and row.outcome_unknown:
        return "already_there"
    return "put_off" if result.disposition in PUT_OFF else "rejected"


def is_lost(results: Sequence[RowResult]) -> bool:
    first = results[0]
    return first.whole_request and first.disposition == Disposition.RETRY and first.category == Category.TRANSIENT


def _request_ids(results: RowResults) -> PerRowValues:
    return PerRowValues({row.pk: {"provider_request_id": result.request_id[:64]} for row, result in results})


def error_values(results: RowResults, *, is_probe: bool) -> PerRowValues:
    return PerRowValues({row.pk: error_columns(row, result, is_probe=is_probe) for row, result in results})


def error_columns(row: Uploadable, result: RowResult, *, is_probe: bool) -> dict[str, Any]:
    wait = _wait(result)
    return {
        **failure(result.code, result.category or "", strip_control_chars(result.message)),
        "provider_request_id": result.request_id[:64],
        "outcome_unknown": row.outcome_unknown or result.ambiguous,
        "forgiven": _is_forgiven(result, is_probe=is_probe),
        **({} if wait is None else {"wait": f"{wait.total_seconds()} seconds"}),
    }


def _is_forgiven(result: RowResult, *, is_probe: bool) -> bool:
    """Return whether the attempt does not count: rows wait for an open circuit as long as it takes."""
    if not is_probe:
        return result.disposition in ATTEMPT_FORGIVEN
    if result.disposition == Disposition.GATE:
        # Rejected as a whole without blaming the account: the row may be the cause, so its probes must end.
        return not (result.whole_request and result.category == Category.VALIDATION)
    if result.disposition == Disposition.RETRY:
        # A row on which our own library fails must end, too.
        is_outage = result.whole_request and result.category == Category.TRANSIENT and result.code != UPLOADER_ERROR
        return result.category == Category.RATE_LIMIT or is_outage
    return result.disposition in ATTEMPT_FORGIVEN


def _wait(result: RowResult) -> timedelta | None:
    """Return how long a row waits; None means the usual backoff."""
    if result.disposition == Disposition.DEFER:
        return max(result.retry_after or TOO_EARLY_AFTER, TOO_EARLY_AFTER)
    if result.disposition in ATTEMPT_FORGIVEN:
        return timedelta(0)
    return result.retry_after


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


def _note(results: Sequence[RowResult]) -> str:
    whole = next((result for result in results if result.whole_request), None)
    return strip_control_chars(f"{whole.code}: {whole.message}")[:1000] if whole else ""
