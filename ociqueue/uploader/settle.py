"""An answer, written down: every row of it in one statement each way, matched on the claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.lock.text import strip_control_chars
from ociqueue.models import Conversion, UploadBatch
from ociqueue.models.per_row import PerRowValues
from ociqueue.models.queryset import failure
from ociqueue.states import Category
from ociqueue.uploader.results import BROKEN_OFF, GATES, Disposition, Outcome

TOO_EARLY_AFTER = timedelta(hours=6)  # what Google asks for when a click or an action is too fresh
HAD_IT = "Google has it already: the answer to an earlier upload was lost."
UNHARMED = (*GATES, Disposition.UNSENT)
PUT_OFF = (Disposition.RETRY, Disposition.DEFER, *UNHARMED)
Told = list[tuple[Conversion, Outcome]]


@dataclass
class Tally:
    """What an upload did to its rows."""

    accepted: int = 0
    failed: int = 0
    put_off: int = 0
    late: int = 0
    batches: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        words = f"Uploaded {self.accepted}, failed {self.failed}, put off {self.put_off} in {batches}."
        return " ".join([words, *([f"Too late for {self.late}."] if self.late else []), *self.notes])

    def add(self, other: "Tally") -> None:
        self.accepted += other.accepted
        self.failed += other.failed
        self.put_off += other.put_off
        self.late += other.late
        self.batches += other.batches
        self.notes += other.notes


def settle(batch: UUID, rows: Sequence[Conversion], outcomes: Sequence[Outcome], *, is_probe: bool = False) -> Tally:
    """Move each row to where its outcome says; rows that were taken back meanwhile are left alone, with an event.

    An answer settles once: whoever lost the connection while it was written may call again.
    """
    with transaction.atomic():
        tally = _move(batch, rows, outcomes, is_probe=is_probe)
        # At the end: whoever takes rows back locks them first and then their upload, too.
        is_first = UploadBatch.objects.answer(
            batch,
            accepted=tally.accepted,
            failed=tally.failed,
            put_off=F("put_off") + tally.put_off,
            late=tally.late,
            is_lost=is_lost(outcomes),
            request_id=next((outcome.request_id for outcome in outcomes if outcome.request_id), "")[:64],
            note=_note(outcomes),
        )
        if not is_first:
            transaction.set_rollback(True)
    return _tally_of(UploadBatch.objects.get(pk=batch))


def put_back(batch: UUID, rows: Sequence[Conversion], outcome: Outcome) -> None:
    """Let go of rows that an upload leaves out; it must not have been written down as sent."""
    if not rows:
        return
    with transaction.atomic():
        told = _errors([(row, outcome) for row in rows], is_probe=False)
        left_out = Conversion.objects.in_batch(batch).put_off(told)
        UploadBatch.objects.filter(pk=batch).update(put_off=F("put_off") + len(left_out))


def _move(batch: UUID, rows: Sequence[Conversion], outcomes: Sequence[Outcome], *, is_probe: bool) -> Tally:
    held = Conversion.objects.in_batch(batch)
    accepted, had, refused, put_off = _sorted(rows, outcomes)
    if len(accepted) < len(rows):  # one statement alone locks its rows in order by itself
        held.lock_in_order()
    moved = held.accept(_requests(accepted)) if accepted else set()
    if had:
        with for_reason(HAD_IT):
            moved |= held.accept(_requests(had))
    failed = held.refuse(_errors(refused, is_probe=is_probe)) if refused else set()
    waiting = held.put_off(_errors(put_off, is_probe=is_probe)) if put_off else set()
    capped = Conversion.objects.filter(pk__any_of=waiting).cap() if waiting else 0
    late = len(rows) - len(moved) - len(failed) - len(waiting)
    if late:
        settled = moved | failed | waiting
        _note_late(batch, {row.pk: told for row, told in zip(rows, outcomes, strict=True) if row.pk not in settled})
    return Tally(len(moved), len(failed) + capped, len(waiting) - capped, late, batches=1)


def _sorted(rows: Sequence[Conversion], outcomes: Sequence[Outcome]) -> tuple[Told, Told, Told, Told]:
    """Return what the provider took, what it had before, what it refuses, and what is tried again."""
    accepted: Told = []
    had: Told = []
    refused: Told = []
    put_off: Told = []
    for row, outcome in zip(rows, outcomes, strict=True):
        kind = outcome.disposition
        if kind == Disposition.ACCEPTED:
            accepted.append((row, outcome))
        # As it was when the row was claimed: since then it is unknown for every row of the batch.
        elif kind == Disposition.DUPLICATE and row.outcome_unknown:
            had.append((row, outcome))
        else:
            (put_off if kind in PUT_OFF else refused).append((row, outcome))
    return accepted, had, refused, put_off


def _tally_of(batch: UploadBatch) -> Tally:
    return Tally(batch.accepted, batch.failed, batch.put_off, batch.late, batches=1)


def is_lost(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether the whole upload was lost on the way."""
    first = outcomes[0]
    return first.whole_request and first.disposition == Disposition.RETRY and first.category == Category.TRANSIENT


def _requests(told: Told) -> PerRowValues:
    return PerRowValues({row.pk: {"request_id": outcome.request_id[:64]} for row, outcome in told})


def _errors(told: Told, *, is_probe: bool) -> PerRowValues:
    return PerRowValues(
        {row.pk: _columns(outcome, was_unknown=row.outcome_unknown, is_probe=is_probe) for row, outcome in told}
    )


def _columns(outcome: Outcome, *, was_unknown: bool, is_probe: bool) -> dict[str, Any]:
    columns = failure(outcome.code, outcome.category or "", strip_control_chars(outcome.message))
    wait = _wait(outcome)
    return {
        "code": columns["provider_error_code"],
        "category": columns["provider_error_category"],
        "message": columns["last_error"],
        "request_id": outcome.request_id[:64],
        "unknown": was_unknown or outcome.ambiguous,
        "unharmed": _is_unharmed(outcome, is_probe=is_probe),
        **({} if wait is None else {"wait": f"{wait.total_seconds()} seconds"}),
    }


def _is_unharmed(outcome: Outcome, *, is_probe: bool) -> bool:
    """Tell whether a row gets its attempt back: while the circuit is open rows wait, however long it takes."""
    if not is_probe:
        return outcome.disposition in UNHARMED
    whole = outcome.whole_request
    if outcome.disposition == Disposition.GATE:
        # Refused whole without a word about the account: it may be the row, and one that always does so ends.
        return not (whole and outcome.category == Category.VALIDATION)
    if outcome.disposition == Disposition.RETRY:
        # A row on which our own library fails comes to an end, too.
        is_outage = whole and outcome.category == Category.TRANSIENT and outcome.code != BROKEN_OFF
        return outcome.category == Category.RATE_LIMIT or is_outage
    return outcome.disposition in UNHARMED


def _wait(outcome: Outcome) -> timedelta | None:
    """Return how long a row waits, or nothing for the usual backoff."""
    if outcome.disposition == Disposition.DEFER:
        return max(outcome.retry_after or TOO_EARLY_AFTER, TOO_EARLY_AFTER)
    if outcome.disposition in UNHARMED:
        return timedelta(0)
    return outcome.retry_after


def _note_late(batch: UUID, told: Mapping[UUID, Outcome]) -> None:
    """Leave in each row's timeline what Google said too late."""
    for disposition in {outcome.disposition for outcome in told.values()}:
        rows = [pk for pk, outcome in told.items() if outcome.disposition == disposition]
        details = {"batch": str(batch), "answer": disposition, "request_id": told[rows[0]].request_id}
        Event.objects.record_each(Conversion.objects.filter(pk__any_of=rows), "LATE_ANSWER", details=details)


def _note(outcomes: Sequence[Outcome]) -> str:
    whole = next((outcome for outcome in outcomes if outcome.whole_request), None)
    return strip_control_chars(f"{whole.code}: {whole.message}")[:1000] if whole else ""
