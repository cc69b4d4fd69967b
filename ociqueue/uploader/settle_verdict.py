"""Writes the verdict on a request: one transaction, matched on the upload and on UPLOADED, once for each receipt."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction

from kilit.lock.audit import for_reason
from kilit.lock.text import strip_control_chars
from ociqueue.models import Circuit, Receipt, UploadBatch
from ociqueue.models.per_row import PerRowValues
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category
from ociqueue.uploader.circuits import update_circuits_by_verdict
from ociqueue.uploader.meanings import after_defer
from ociqueue.uploader.results import Disposition, RowResult, Verdict, VerdictStatus
from ociqueue.uploader.settle import (
    ALREADY_THERE,
    RowResults,
    error_columns,
    kind_of,
    note_late,
    note_warnings,
    rows_like,
)

UNPROVEN = "VERDICT_UNPROVEN"
LOST = "VERDICT_LOST"
SEND_ALONE = "Google's verdict does not say which rows of the request failed, so each is sent alone."
NOT_PROVEN = "Google's verdict on this row proves nothing, so it is sent again."
NO_VERDICT = "Google gave no verdict, so the row is sent again."


@dataclass
class VerdictTally:
    confirmed: int = 0
    rejected: int = 0
    put_off: int = 0
    late: int = 0
    pending: int = 0  # requests
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = f"Confirmed {self.confirmed}, rejected {self.rejected}, deferred {self.put_off}."
        late = f" Too late for {self.late}." if self.late else ""
        pending = f" Requests without a verdict: {self.pending}." if self.pending else ""
        return " ".join([f"{rows}{late}{pending}", *self.notes])

    def add(self, other: "VerdictTally") -> None:
        for name in ("confirmed", "rejected", "put_off", "late", "pending", "notes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def settle_verdict(receipt: Receipt, rows: Sequence[Uploadable], verdict: Verdict) -> VerdictTally:
    """Move the rows of a request by its verdict; rows taken back meanwhile are skipped, with an event.

    `rows` are all rows of the request in the order that was sent. A second call for the same receipt changes nothing.
    """
    batch = receipt.batch
    with transaction.atomic():
        results = _keep_circuit_open(batch, _with_request_id(_results(verdict, len(rows)), receipt.request_id))
        alone = verdict.status == VerdictStatus.UNPROVEN
        tally = _move(batch, rows, results, is_lost=verdict.status != VerdictStatus.SETTLED, alone=alone)
        tally.notes = update_circuits_by_verdict(batch, rows, results)
        # Last, as rows are locked before their upload everywhere.
        is_first = Receipt.objects.mark_settled(
            receipt.pk,
            verdict=(verdict.answer if verdict.status == VerdictStatus.SETTLED else verdict.status)[:40],
            confirmed=tally.confirmed,
            rejected=tally.rejected,
            put_off=tally.put_off,
            late=tally.late,
            note=strip_control_chars(verdict.note)[:1000],
        )
        if not is_first:
            transaction.set_rollback(True)
            return VerdictTally()
    return tally


def _results(verdict: Verdict, sent: int) -> Sequence[RowResult]:
    """Return one result for each row, also if the verdict says nothing about a single row."""
    if verdict.status == VerdictStatus.SETTLED:
        return verdict.results
    unproven = verdict.status == VerdictStatus.UNPROVEN
    text = NO_VERDICT if not unproven else SEND_ALONE if sent > 1 else NOT_PROVEN
    message = " ".join(filter(None, (text, verdict.note)))
    code = UNPROVEN if unproven else LOST
    return [RowResult(Disposition.RETRY, code, Category.TRANSIENT, message, ambiguous=True)] * sent


def _with_request_id(results: Sequence[RowResult], request_id: str) -> list[RowResult]:
    """Return the results with their request; most rows share one, which is copied once."""
    distinct = {id(result): result for result in results}
    copies = {key: replace(result, request_id=request_id) for key, result in distinct.items()}
    return [copies[id(result)] for result in results]


def _keep_circuit_open(batch: UploadBatch, results: list[RowResult]) -> list[RowResult]:
    """Take a probe that is rejected for the circuit's own reason for the account's fault, as it was for all rows.

    The attempt counts, so that a row that is itself the cause ends.
    """
    if not batch.is_probe:
        return results
    codes = set(Circuit.objects.open().filter(site=batch.site_id, needs_verdict=True).values_list("code", flat=True))
    return [
        replace(result, disposition=Disposition.GATE, whole_request=True)
        if result.disposition == Disposition.FATAL and result.code in codes
        else result
        for result in results
    ]


def _move(
    batch: UploadBatch, rows: Sequence[Uploadable], results: Sequence[RowResult], *, is_lost: bool, alone: bool
) -> VerdictTally:
    every = rows_like(rows)
    waiting = every.received_in(batch.pk)
    by_kind: dict[str, RowResults] = defaultdict(list)
    for row, answer in zip(rows, results, strict=True):
        result = after_defer(row, answer)
        by_kind["lost" if is_lost else kind_of(row, result)].append((row, result))
    if len(by_kind) > 1:  # a single statement locks its rows in order anyway
        waiting.filter(pk__any_of=[row.pk for row in rows]).lock_in_order()
    confirmed = waiting.confirm(_ids(by_kind["accepted"])) if by_kind["accepted"] else set()
    if by_kind["already_there"]:
        with for_reason(ALREADY_THERE):
            confirmed |= waiting.confirm(_ids(by_kind["already_there"]))
    rejected = waiting.reject(_values(batch, by_kind["rejected"])) if by_kind["rejected"] else set()
    put_off = waiting.put_off(_values(batch, by_kind["put_off"])) if by_kind["put_off"] else set()
    if by_kind["lost"] and alone and len(rows) > 1:
        # The request proves nothing about the row: the attempt does not count, and it is sent at once.
        values = _values(batch, by_kind["lost"], forgiven=True, wait="0 seconds")
        put_off |= waiting.put_off(values, alone=True)
    elif by_kind["lost"]:
        put_off |= waiting.lose(_values(batch, by_kind["lost"]), alone=alone)
    capped = every.filter(pk__any_of=put_off).cap() if put_off else 0
    moved = confirmed | rejected | put_off
    answers = {row.pk: result for row, result in zip(rows, results, strict=True)}
    late = {pk: result for pk, result in answers.items() if pk not in moved}
    if late:
        note_late(batch.pk, late, among=every)
    if warned := {pk: result.warnings for pk, result in answers.items() if result.warnings}:
        note_warnings(batch.pk, warned, among=every)
    return VerdictTally(len(confirmed), len(rejected) + capped, len(put_off) - capped, len(late))


def _ids(results: RowResults) -> PerRowValues:
    return PerRowValues({row.pk: {} for row, _ in results})


def _values(batch: UploadBatch, results: RowResults, **columns: object) -> PerRowValues:
    return PerRowValues(
        {row.pk: {**error_columns(row, result, is_probe=batch.is_probe), **columns} for row, result in results}
    )
