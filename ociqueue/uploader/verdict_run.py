"""Asks for the verdicts that are due: take a receipt, ask the provider that took the request, settle.

The schedule moves ahead before the question, so a crash only delays it. No transaction is open while the provider is
called. A site that is paused or has another sender now is asked for, too: its rows wait for the verdict all the same.
A verdict is settled in one transaction, matched on the upload and on UPLOADED, once for each receipt.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction

from kilit.access.encryption import DecryptionError
from kilit.lock.audit import acting_as, current_context
from kilit.lock.outages import DATABASE_DOWN
from kilit.lock.text import storable
from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.models import Circuit, Conversion, Credentials, Receipt, UploadBatch, sending, statements
from ociqueue.models.adjustment import MODELS_BY_QUEUE
from ociqueue.models.statements import find_rows
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader.circuits import update_circuits_by_verdict
from ociqueue.uploader.providers import Providers
from ociqueue.uploader.results import (
    CredentialsRejected,
    Groups,
    LaterProvider,
    RowResult,
    RunTally,
    Verdict,
    VerdictStatus,
    change_results,
    group_rows,
    ids_of,
)
from ociqueue.uploader.settle import Moves, error_values, move_groups, note_rest, note_warnings, sort_groups
from ociqueue.uploader.upload_run import ACTOR

UNPROVEN = "VERDICT_UNPROVEN"
LOST = "VERDICT_LOST"


@dataclass
class VerdictTally(RunTally):
    confirmed: int = 0
    rejected: int = 0
    pending: int = 0  # requests

    def __str__(self) -> str:
        rows = f"Confirmed {self.confirmed}, rejected {self.rejected}, deferred {self.put_off}."
        late = f" Too late for {self.late}." if self.late else ""
        pending = f" Requests without a verdict: {self.pending}." if self.pending else ""
        return " ".join([f"{rows}{late}{pending}", *self.notes])


def settle_verdict(receipt: Receipt, rows: Sequence[Uploadable], verdict: Verdict) -> VerdictTally:
    """Move the rows of a request by its verdict; rows taken back meanwhile are skipped, with an event.

    `rows` are all rows of the request in the order that was sent. A second call for the same receipt changes nothing.
    """
    batch = receipt.batch
    with transaction.atomic():
        with_request = partial(replace, request_id=receipt.request_id)
        results = _keep_circuit_open(batch, change_results(_results(verdict, len(rows)), with_request))
        alone = verdict.status == VerdictStatus.UNPROVEN
        tally = _move(batch, rows, results, is_lost=verdict.status != VerdictStatus.SETTLED, alone=alone)
        tally.notes = update_circuits_by_verdict(batch, rows, results)
        # Last, as rows are locked before their upload everywhere.
        is_first = Receipt.objects.mark_settled(
            receipt.pk,
            verdict=(verdict.label if verdict.status == VerdictStatus.SETTLED else verdict.status)[:40],
            confirmed=tally.confirmed,
            rejected=tally.rejected,
            put_off=tally.put_off,
            late=tally.late,
            note=storable(verdict.note, 1000),
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
    in_doubt = sentences.SEND_ALONE if sent > 1 else sentences.NOT_PROVEN
    text = in_doubt if unproven else sentences.NO_VERDICT
    message = joined(text, verdict.note)
    code = UNPROVEN if unproven else LOST
    return [RowResult(Disposition.RETRY, code, Category.TRANSIENT, message, ambiguous=True)] * sent


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
    model, is_probe = MODELS_BY_QUEUE[batch.queue], batch.is_probe
    every = sending.rows_of(model)
    waiting = every.received_in(batch.pk)
    groups = group_rows(rows, results)

    def confirm(groups: Groups) -> list[UUID]:
        ids = [pk for _, same_rows in groups for pk in ids_of(same_rows)]
        return list(statements.confirm(model).run(ids, batch=batch.pk)) if ids else []

    if is_lost and alone and len(rows) > 1:
        # The request proves nothing about the row: the attempt does not count, and it is sent at once.
        values = error_values(groups, is_probe=is_probe, forgiven=True, wait="0 seconds")
        moves = Moves(put_off=waiting.put_off(values, alone=True))
    elif is_lost:
        moves = Moves(put_off=waiting.put_off(error_values(groups, is_probe=is_probe), verb="lose", alone=alone))
    else:
        by_kind = sort_groups(groups)
        if len(by_kind) > 1:  # a single statement locks its rows in order anyway
            waiting.filter(pk__any_of=ids_of(rows)).lock_in_order()
        moves = move_groups(waiting, by_kind, confirm, failing="reject", is_probe=is_probe)
    note_warnings(batch.pk, groups, among=every)
    capped = moves.cap(every)
    return VerdictTally(
        put_off=len(moves.put_off) - capped,
        late=note_rest(batch.pk, groups, moves, among=every),
        confirmed=len(moves.accepted),
        rejected=len(moves.failed) + capped,
    )


logger = logging.getLogger(__name__)

# What settling reads of a row; the other columns are loaded on access.
SETTLED_BY = ("id", "action", "outcome_unknown", "provider_error_code")
IDENTIFIED_BY = (*Conversion.CLICK_IDS, *Conversion.HASHES)
OPEN = (VerdictStatus.PENDING, VerdictStatus.UNKNOWN)


def ask_for_verdicts(*, seconds: float | None = None) -> VerdictTally:
    """Ask for what is due for about so many seconds at most; the doorbell rings again for the rest."""
    with acting_as(current_context().actor or ACTOR):
        return VerdictRun().ask(seconds=seconds)


def handle_verdict_bell() -> str:
    """Ask within the time of a worker's task: the last question has the time of a whole one."""
    return str(ask_for_verdicts(seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 2))


class VerdictRun:
    """A run over the receipts that are due, with one connection to the provider for each site."""

    def __init__(self) -> None:
        self.providers = Providers()
        self.without_quota: set[UUID] = set()
        self.tally = VerdictTally()

    def ask(self, *, seconds: float | None = None) -> VerdictTally:
        end = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < end:
            receipt = Receipt.objects.exclude(batch__site__in=self.without_quota).take_due()
            if not receipt:
                break
            try:
                self._turn(receipt)
            except DATABASE_DOWN:
                raise
            except Exception as error:  # with one request: the others go on
                logger.exception("the verdict on request %s could not be settled", receipt.request_id)
                self._leave_open(receipt, f"Asking for the verdict failed with {type(error).__name__}; see the log.")
        return self.tally

    def _turn(self, receipt: Receipt) -> None:
        rows = rows_of(receipt)
        verdict = self._ask(receipt, rows)
        if verdict is None:
            self.without_quota.add(receipt.batch.site_id)
            Receipt.objects.postpone(receipt.pk)
        elif verdict.status in OPEN and not receipt.is_last:  # type: ignore[attr-defined]
            self._leave_open(receipt, verdict.note)
        else:
            if verdict.status in OPEN:
                verdict = replace(verdict, status=VerdictStatus.LOST)
            tally = settle_verdict(receipt, rows, verdict)
            self.tally.add(tally)
            logger.info("verdict on request %s: %s %s", receipt.request_id, verdict.status, tally)

    def _ask(self, receipt: Receipt, rows: Sequence[Uploadable]) -> Verdict | None:
        """Return the verdict, UNKNOWN if the provider cannot be asked, or None if a question does not fit the quota."""
        batch = receipt.batch
        try:
            # The provider that took the upload, whatever sender the site has now.
            provider: LaterProvider = self.providers[batch.site, SyncMethod(batch.sender), batch.queue]
            provider.refresh()
            return provider.verdict(receipt.request_id, rows) if provider.can_ask() else None
        except Credentials.DoesNotExist:
            return Verdict(VerdictStatus.UNKNOWN, note=sentences.NO_CREDENTIALS)
        except (CredentialsRejected, DecryptionError) as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(error))

    def _leave_open(self, receipt: Receipt, note: str) -> None:
        self.tally.pending += 1
        Receipt.objects.open().filter(pk=receipt.pk).update(note=storable(note, 1000))


def rows_of(receipt: Receipt) -> list[Uploadable]:
    """Return the rows of a request in the order that was sent; the verdict names rows by their place in it."""
    model = MODELS_BY_QUEUE[receipt.batch.queue]
    columns = (*SETTLED_BY, *(IDENTIFIED_BY if model is Conversion else ()))
    rows_by_id = {row.id: row for row in find_rows(model, columns, receipt.row_ids)}
    # A row that was pruned meanwhile keeps its place.
    return [rows_by_id.get(pk) or model(id=pk) for pk in receipt.row_ids]
