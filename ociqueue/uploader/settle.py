"""Writes the reply to an upload: one statement for each kind of result, matched on the claim.

It also records warnings, retractions that were sent as 0, and replies for rows that were taken back.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from kilit.lock.fast_sql import uuid_array
from kilit.lock.models import Event
from kilit.lock.text import storable
from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.codes.table import DEFERRED_ONCE
from ociqueue.models import Receipt, UploadBatch, statements
from ociqueue.models.batch import COUNTS, FIRST_CHECK_AFTER
from ociqueue.models.sending import PerRowValues, UploadableQuerySet, failure, rows_of
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category, Disposition
from ociqueue.uploader.results import GATES, UPLOADER_ERROR, Groups, RowResult, RunTally, group_rows, ids_of

TOO_EARLY_AFTER = timedelta(hours=6)  # what Google asks for when a click or an action is too recent
ATTEMPT_FORGIVEN = (*GATES, Disposition.UNSENT)
PUT_OFF = (Disposition.RETRY, Disposition.DEFER, *ATTEMPT_FORGIVEN)
Rows = UploadableQuerySet[Any]


@dataclass
class UploadTally(RunTally):
    accepted: int = 0
    received: int = 0
    failed: int = 0
    batches: int = 0

    def __str__(self) -> str:
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        taken = f"{self.accepted}, waiting for the verdict {self.received}" if self.received else f"{self.accepted}"
        summary = f"Uploaded {taken}, failed {self.failed}, deferred {self.put_off} in {batches}."
        return " ".join([summary, *([f"Too late for {self.late}."] if self.late else []), *self.notes])


def settle(
    batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult], *, is_probe: bool = False
) -> UploadTally:
    """Move each row by its result; rows taken back meanwhile are skipped, with an event.

    A reply is settled once, so a caller who lost the connection on the way may call again.
    """
    groups = group_rows(rows, results)
    distinct_results = [result for result, _ in groups]
    first, whole = distinct_results[0], next((result for result in distinct_results if result.whole_request), None)
    with transaction.atomic():
        tally = _move(batch, rows, results, groups, is_probe=is_probe)
        # Last, because `take_back` locks rows first and then their upload, too.
        is_first = UploadBatch.objects.mark_answered(
            batch,
            {name: getattr(tally, name) for name in COUNTS},
            by_action=count_by_action(groups),
            answered_job_id=next((result.job_id for result in distinct_results if result.job_id is not None), None),
            is_lost=first.whole_request and first.is_temporary,
            request_id=next((result.request_id for result in distinct_results if result.request_id), "")[:64],
            note=storable(joined(f"{whole.code}:", whole.message), 1000) if whole else "",
        )
        if not is_first:
            transaction.set_rollback(True)
    # All counts: `put_back` may have added its own before.
    return UploadTally(**UploadBatch.objects.values(*COUNTS).get(pk=batch), batches=1)


def put_back(batch: UUID, rows: Sequence[Uploadable], result: RowResult) -> None:
    """Release rows that an upload does not send; call it before the upload is marked as sent."""
    if not rows:
        return
    with transaction.atomic():
        held = rows_of(type(rows[0])).in_batch(batch)
        count = len(held.put_off(error_values([(result, list(rows))], is_probe=False)))
        UploadBatch.objects.filter(pk=batch).update(put_off=F("put_off") + count, unsent=F("unsent") + count)


def count_by_action(groups: Groups) -> dict[str, dict[str, int]]:
    """Count what the provider answered by conversion name, as the provider counts it in its own summaries.

    This is not what became of the rows: one that is too recent fails at Google and is deferred here.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for result, rows in groups:
        if kind := _counted_as(result):
            for action, count in Counter(row.action for row in rows).items():
                counts[action][kind] += count
    return {action: dict(kinds) for action, kinds in counts.items()}


def _counted_as(result: RowResult) -> str:
    if result.disposition == Disposition.RECEIVED:
        return "received"
    if result.ambiguous:
        return "unknown"
    if result.job_id is None:
        return ""  # the request was refused as a whole: no row of it was processed
    return "accepted" if result.disposition == Disposition.ACCEPTED else "failed"


def _move(
    batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult], groups: Groups, *, is_probe: bool
) -> UploadTally:
    model, every = type(rows[0]), rows_of(type(rows[0]))
    held = every.in_batch(batch)
    by_kind = sort_groups(groups)
    if len(groups) > 1:  # a single statement locks its rows in order anyway
        held.lock_in_order()
    accept, receive = (partial(move(model).run, batch=batch) for move in (statements.accept, statements.receive))
    moves = move_groups(held, by_kind, partial(_by_request, accept), failing="ack_failed", is_probe=is_probe)
    received = by_kind["received"]
    taken = _by_request(receive, received)
    if received:
        _store_receipts(batch, rows, results)
    note_warnings(batch, received, among=every)
    note_zeros(groups, among=every)
    capped = moves.cap(every)
    return UploadTally(
        accepted=len(moves.accepted),
        received=len(taken),
        failed=len(moves.failed) + capped,
        put_off=len(moves.put_off) - capped,
        late=note_rest(batch, groups, (taken, *moves), among=every),
        batches=1,
    )


class Moves(NamedTuple):
    """The ids of the rows that an answer or a verdict moved."""

    accepted: Collection[UUID] = ()
    failed: Collection[UUID] = ()
    put_off: Collection[UUID] = ()

    def cap(self, every: Rows) -> int:
        """Fail what was put off and has used up its attempts."""
        return every.filter(pk__any_of=self.put_off).cap() if self.put_off else 0


def move_groups(
    held: Rows, by_kind: Mapping[str, Groups], accept: Callable[[Groups], list[UUID]], *, failing: str, is_probe: bool
) -> Moves:
    """Move rows by what becomes of them; `failing` is the verb for those that fail."""
    accepted = accept(by_kind["accepted"])
    with for_reason(sentences.ALREADY_THERE):
        accepted += accept(by_kind["already_there"])
    failed = held.settle(failing, error_values(by_kind["rejected"], is_probe=is_probe))
    return Moves(accepted, failed, held.put_off(error_values(by_kind["put_off"], is_probe=is_probe)))


def sort_groups(groups: Groups) -> dict[str, Groups]:
    """Return the rows by what becomes of them, each with its result; what was taken or accepted is asked once."""
    by_kind: dict[str, Groups] = defaultdict(list)
    for group_result, rows in groups:
        is_taken = group_result.disposition in (Disposition.ACCEPTED, Disposition.RECEIVED)
        for same_rows in [rows] if is_taken else ([row] for row in rows):
            result = after_defer(same_rows[0], group_result)
            by_kind[kind_of(same_rows[0], result)].append((result, same_rows))
    return by_kind


def after_defer(row: Uploadable, result: RowResult) -> RowResult:
    """Return a result that is fatal if the row was deferred for the same reason before, and is deferred only once."""
    if result.code not in DEFERRED_ONCE or result.disposition != Disposition.DEFER:
        return result
    if row.provider_error_code != result.code:  # as it was when the row was claimed, or deferred
        return result
    message = joined(sentences.LOOKED_TWICE, result.message)
    return replace(result, disposition=Disposition.FATAL, category=Category.VALIDATION, message=message)


def _store_receipts(batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult]) -> None:
    """Store one for each request, in the order that was sent, also with rows that were taken back.

    The verdict names places in it.
    """
    requests: dict[str, list[UUID]] = defaultdict(list)
    for row, result in zip(rows, results, strict=True):
        if result.disposition == Disposition.RECEIVED:
            requests[result.request_id[:64]].append(row.id)
    received: dict[str, Any] = {"batch_id": batch, "next_check_at": Now() + FIRST_CHECK_AFTER}
    Receipt.objects.bulk_create(
        # As one text: Django would prepare each id.
        Receipt(**received, request_id=request_id, row_ids=RawSQL("%s::uuid[]", [uuid_array(ids)]))
        for request_id, ids in requests.items()
    )


def kind_of(row: Uploadable, result: RowResult) -> str:
    if result.disposition == Disposition.ACCEPTED:
        return "accepted"
    if result.disposition == Disposition.RECEIVED:
        return "received"
    # As it was when the row was claimed: since then it is unknown for every row of the batch.
    if result.disposition == Disposition.DUPLICATE and row.outcome_unknown:
        return "already_there"
    return "put_off" if result.disposition in PUT_OFF else "rejected"


def _by_request(move: Callable[..., Collection[UUID]], groups: Groups) -> list[UUID]:
    """Move the rows of each request; mostly there is one."""
    requests: dict[str, list[UUID]] = defaultdict(list)
    for result, rows in groups:
        requests[result.request_id[:64]] += ids_of(rows)
    return [pk for request_id, ids in requests.items() for pk in move(ids, request_id=request_id)]


def error_values(groups: Groups, *, is_probe: bool, **columns: object) -> PerRowValues:
    pairs = ((row, result) for result, rows in groups for row in rows)
    return PerRowValues({row.id: error_columns(row, result, is_probe=is_probe) | columns for row, result in pairs})


def error_columns(row: Uploadable, result: RowResult, *, is_probe: bool) -> dict[str, object]:
    wait = _wait(result)
    return {
        **failure(result.code, result.category or "", result.message),
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
        is_outage = result.whole_request and result.is_temporary and result.code != UPLOADER_ERROR
        return result.category == Category.RATE_LIMIT or is_outage
    return result.disposition in ATTEMPT_FORGIVEN


def _wait(result: RowResult) -> timedelta | None:
    """Return how long a row waits; None means the usual backoff."""
    if result.disposition == Disposition.DEFER:
        return max(result.retry_after or TOO_EARLY_AFTER, TOO_EARLY_AFTER)
    if result.disposition in ATTEMPT_FORGIVEN:
        return timedelta(0)
    return result.retry_after


def note_warnings(batch: UUID, groups: Groups, *, among: Rows) -> None:
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
        Event.objects.record_each(among.filter(pk__any_of=ids), "SENT_AS_ZERO", message=sentences.SENT_AS_ZERO)


def note_rest(batch: UUID, groups: Groups, settled: Sequence[Collection[UUID]], *, among: Rows) -> int:
    """Record the answers for all rows but these: they were taken back meanwhile; return how many there are."""
    late = sum(len(rows) for _, rows in groups) - sum(len(ids) for ids in settled)
    if not late:
        return 0
    done = {pk for ids in settled for pk in ids}
    late_ids: dict[tuple[str, str, str, str], list[UUID]] = defaultdict(list)
    for result, rows in groups:
        if ids := [pk for pk in ids_of(rows) if pk not in done]:
            late_ids[result.disposition, result.code, result.message, result.request_id] += ids
    for (disposition, code, text, request_id), ids in late_ids.items():
        details = {"batch": str(batch), "answer": disposition, "request_id": request_id}
        details |= {"code": code} if code else {}
        late_rows = list(among.filter(pk__any_of=ids))
        # The reply may quote what was erased meanwhile.
        erased = [row for row in late_rows if getattr(row, "erased_at", None)]
        others = [row for row in late_rows if row not in erased]
        Event.objects.record_each(others, "LATE_ANSWER", message=text, details=details)
        Event.objects.record_each(erased, "LATE_ANSWER", details=details)
    return late
