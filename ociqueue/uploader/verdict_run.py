"""Asks for the verdicts that are due: take a receipt, ask the provider that took the request, settle.

The schedule moves ahead before the question, so a crash only delays it. No transaction is open while the provider is
called. A site that is paused or has another sender now is asked for, too: its rows wait for the verdict all the same.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError

from kilit.access.encryption import DecryptionError
from kilit.lock.audit import acting_as, current_context
from kilit.lock.text import strip_control_chars
from ociqueue.models import Conversion, Credentials, Receipt
from ociqueue.models.adjustment import MODELS_BY_QUEUE
from ociqueue.models.statements import find_rows
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import SyncMethod
from ociqueue.uploader.providers import later_provider_for
from ociqueue.uploader.results import CredentialsRejected, LaterProvider, Verdict, VerdictStatus
from ociqueue.uploader.settle_verdict import VerdictTally, settle_verdict
from ociqueue.uploader.upload_run import ACTOR

logger = logging.getLogger(__name__)

NO_CREDENTIALS = "The site has no credentials, so Google cannot be asked."
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
        self.providers: dict[tuple[UUID, SyncMethod, str], LaterProvider] = {}
        self.without_quota: set[UUID] = set()
        self.tally = VerdictTally()

    def ask(self, *, seconds: float | None = None) -> VerdictTally:
        end = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < end:
            receipt = Receipt.objects.exclude(batch__site__in=self.without_quota).take_due()
            if not receipt:
                break
            self._safe_turn(receipt)
        return self.tally

    def _safe_turn(self, receipt: Receipt) -> None:
        """Ask for one verdict; an error with one request must not stop the others."""
        try:
            self._turn(receipt)
        except (OperationalError, InterfaceError):
            raise  # the database is unavailable, for all of them
        except Exception as error:
            logger.exception("the verdict on request %s could not be settled", receipt.request_id)
            self._leave_open(receipt, f"Asking for the verdict failed with {type(error).__name__}; see the log.")

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
        try:
            provider = self._provider(receipt)
            return provider.verdict(receipt.request_id, rows) if provider.can_ask() else None
        except Credentials.DoesNotExist:
            return Verdict(VerdictStatus.UNKNOWN, note=NO_CREDENTIALS)
        except (CredentialsRejected, DecryptionError) as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(error))

    def _provider(self, receipt: Receipt) -> LaterProvider:
        """Return the provider that took the request, logged in with the site's credentials."""
        batch = receipt.batch
        used = (batch.site_id, SyncMethod(batch.sender), batch.queue)
        provider = self.providers.get(used) or later_provider_for(batch.site, used[1], queue=batch.queue)
        self.providers[used] = provider
        provider.refresh()
        return provider

    def _leave_open(self, receipt: Receipt, note: str) -> None:
        self.tally.pending += 1
        Receipt.objects.open().filter(pk=receipt.pk).update(note=strip_control_chars(note)[:1000])


def rows_of(receipt: Receipt) -> list[Uploadable]:
    """Return the rows of a request in the order that was sent; the verdict names rows by their place in it."""
    model = MODELS_BY_QUEUE[receipt.batch.queue]
    columns = (*SETTLED_BY, *(IDENTIFIED_BY if model is Conversion else ()))
    found = {row.id: row for row in find_rows(model, columns, receipt.row_ids)}
    # A row that was pruned meanwhile keeps its place.
    return [found.get(pk) or model(id=pk) for pk in receipt.row_ids]
