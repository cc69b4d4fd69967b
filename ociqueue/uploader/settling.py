"""An answer, written down: every row of it in one statement each way, matched on the claim (OCI-20, OCI-23)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from lifecycle.actor import acting, acting_as
from lifecycle.models import Event
from ociqueue.models import Conversion, UploadBatch
from ociqueue.models.perrow import PerRow
from ociqueue.models.queryset import failure
from ociqueue.uploader.outcome import GATES, Disposition, Outcome

TOO_EARLY_AFTER = timedelta(hours=6)  # what Google asks for when a click or an action is too fresh
HAD_IT = "Google has it already: the answer to an earlier upload was lost."
UNHARMED = (*GATES, Disposition.UNSENT)


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
        """Count another upload in."""
        self.accepted += other.accepted
        self.failed += other.failed
        self.put_off += other.put_off
        self.late += other.late
        self.batches += other.batches
        self.notes += other.notes


def settle(batch: UUID, rows: Sequence[Conversion], outcomes: Sequence[Outcome]) -> Tally:
    """Move each row to where its outcome says; rows that were taken back meanwhile are left alone, with an event."""
    told = {row.pk: outcome for row, outcome in zip(rows, outcomes, strict=True)}
    had = {row.pk for row in rows if row.outcome_unknown and told[row.pk].disposition == Disposition.DUPLICATE}
    accepted = {pk for pk in told if told[pk].disposition == Disposition.ACCEPTED}
    put_off = {pk for pk in told if told[pk].disposition in PUT_OFF}
    refused = told.keys() - had - accepted - put_off
    with transaction.atomic():
        held = Conversion.objects.in_batch(batch)
        held.lock_in_order()
        moved = held.accept(_per_row(told, accepted))
        with acting_as(acting().actor, reason=HAD_IT):
            moved |= held.accept(_per_row(told, had))
        failed = held.refuse(_per_row(told, refused))
        waiting = held.put_off(_per_row(told, put_off))
        capped = Conversion.objects.filter(pk__in=waiting).cap() if waiting else 0
        late = told.keys() - moved - failed - waiting
        Event.objects.record_each(Conversion.objects.filter(pk__in=late), "LATE_ANSWER", details={"batch": str(batch)})
        tally = Tally(len(moved), len(failed) + capped, len(waiting) - capped, len(late), batches=1)
        UploadBatch.objects.filter(pk=batch).update(
            answered_at=Now(),
            accepted=tally.accepted,
            failed=tally.failed,
            put_off=tally.put_off,
            late=tally.late,
            request_id=next((outcome.request_id for outcome in outcomes if outcome.request_id), ""),
            note=_note(outcomes),
        )
    return tally


PUT_OFF = (Disposition.RETRY, Disposition.DEFER, *UNHARMED)


def _per_row(told: Mapping[UUID, Outcome], rows: Iterable[UUID]) -> PerRow:
    return PerRow({pk: _columns(told[pk]) for pk in rows})


def _columns(outcome: Outcome) -> dict[str, Any]:
    wait = outcome.retry_after
    if outcome.disposition == Disposition.DEFER:
        wait = max(wait or TOO_EARLY_AFTER, TOO_EARLY_AFTER)
    columns = failure(outcome.code, outcome.category or "", outcome.message)
    return {
        "code": columns["provider_error_code"],
        "category": columns["provider_error_category"],
        "message": columns["last_error"].replace("\x00", ""),
        "request_id": outcome.request_id[:64],
        "ambiguous": outcome.ambiguous,
        "unharmed": outcome.disposition in UNHARMED,
        **({"wait": f"{wait.total_seconds()} seconds"} if wait else {}),
    }


def _note(outcomes: Sequence[Outcome]) -> str:
    whole = next((outcome for outcome in outcomes if outcome.whole_request), None)
    return f"{whole.code}: {whole.message}"[:1000] if whole else ""
