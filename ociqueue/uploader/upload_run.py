"""One upload run: log in, claim, mark as sent, send, settle; one batch per site in turn.

No transaction is open while the provider is called, and every step stores what a crash after it needs.
"""

import logging
import math
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from kilit.access.encryption import DecryptionError
from kilit.lock.audit import acting_as, current_context
from kilit.lock.fast_sql import CompiledQuery
from kilit.lock.identity import uuid7
from kilit.lock.outages import DATABASE_DOWN, keep_trying
from kilit.workers.doorbells import UNTAKEN_AFTER
from ociqueue import sentences
from ociqueue.models import Adjustment, Circuit, Conversion, Site, UploadBatch
from ociqueue.models.circuit import CircuitQuerySet
from ociqueue.models.sending import LEAST_TRIED_FIRST, OLDEST_FIRST, UploadableQuerySet
from ociqueue.models.statements import claim_conversions, mark_rows_sent
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import UPLOADED_HERE, Category, Disposition, SyncMethod
from ociqueue.uploader.circuits import update_circuits
from ociqueue.uploader.providers import REPLIES_LATER, Providers, Route, routes_of, sender_of, without_gate
from ociqueue.uploader.results import UPLOADER_ERROR, CredentialsRejected, Provider, RowResult, change_results
from ociqueue.uploader.settle import UploadTally, put_back, settle

logger = logging.getLogger(__name__)

Row = TypeVar("Row", bound=Uploadable)
UploadableModel = type[Conversion] | type[Adjustment]

ACTOR = "uploader"
MOST_ROWS = 2000  # Google's limit for one request, in both of its APIs
MOST_ALONE = 20  # requests of a single row in one upload
DUPLICATE_IN_BATCH = RowResult(Disposition.UNSENT, "TWIN_IN_BATCH", Category.TRANSIENT, sentences.TWIN_SENT_FIRST)


def due_sites(*models: UploadableModel, only: Q | None = None, with_probes: bool = True) -> QuerySet[Site]:
    """Return sites that can upload now; supervisors ask often, so finished rows must cost nothing."""
    blocking = Circuit.objects.blocking() if with_probes else Circuit.objects.open()
    blocking_name = blocking.filter(site=OuterRef("site"), action=OuterRef("action"))
    rows = [
        Exists(model.objects.due().filter(only or Q(), ~Exists(blocking_name), site=OuterRef("pk")))
        for model in models or (Conversion, Adjustment)
    ]
    last = UploadBatch.objects.filter(site=OuterRef("pk")).order_by("-created_at").values("created_at")[:1]
    sites = Site.objects.filter(
        ~Exists(blocking.filter(site=OuterRef("pk"), action=Circuit.EVERY_ACTION)),
        reduce(or_, rows),
        sync_method__in=UPLOADED_HERE,
        is_paused=False,
        credentials__isnull=False,
    )
    # The site that uploaded last comes last, so that one site's backlog does not delay the others.
    return sites.order_by(Subquery(last).asc(nulls_first=True), "pk")


def due_rows() -> "list[QuerySet[Any]]":
    """Return what the doorbell has to ring for: something can be sent, or waits in vain."""
    return [due_sites().order_by(), Adjustment.objects.unsendable()]


def untaken() -> dict[UploadableModel, QuerySet[Site]]:
    """Return the sites with rows that could have been sent for long; an open circuit is a problem of its own."""
    cutoff = Now() - UNTAKEN_AFTER
    for_long = Q(updated_at__lt=cutoff) & (Q(next_retry_at=None) | Q(next_retry_at__lt=cutoff))
    sent_for_long = for_long & Q(original__updated_at__lt=cutoff)
    return {
        Conversion: due_sites(Conversion, only=for_long, with_probes=False).order_by(),
        Adjustment: due_sites(Adjustment, only=sent_for_long, with_probes=False).order_by(),
    }


def scheduled_rows() -> "list[QuerySet[Any]]":
    """Return what the scheduled task finds something to do for: it also revives adjustments."""
    return [*due_rows(), Adjustment.objects.revivable()]


def upload_due(*, sites: QuerySet[Site] | None = None, seconds: float | None = None) -> UploadTally:
    """Upload due rows for about so many seconds at most; the doorbell rings again for the rest."""
    with acting_as(current_context().actor or ACTOR):
        with transaction.atomic():
            Adjustment.objects.end_unsendable()
            Adjustment.objects.revive()
        return UploadRun(due_sites() if sites is None else sites).upload(seconds=seconds)


def handle_bell() -> str:
    """Upload within the time of a worker's task: the last batch has the time of a whole one."""
    return str(upload_due(seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 2))


@dataclass(frozen=True)
class SiteTurn:
    """What a site may send now: all due rows, or one row that probes an open circuit."""

    rows: UploadableQuerySet[Any]
    limit: int = MOST_ROWS
    probe: Circuit | None = None
    is_usual: bool = False  # all conversions of the site, which a statement claims that is compiled once


class UploadRun:
    """A run over several sites, with one connection to the provider for each."""

    def __init__(self, sites: QuerySet[Site]) -> None:
        self.sites = CompiledQuery(lambda: sites)  # asked before each turn of all of them
        self.providers = Providers()
        self.tally = UploadTally()

    def upload(self, *, seconds: float | None = None) -> UploadTally:
        """Give every site a turn, again and again, until nothing is due or the time is up."""
        end = math.inf if seconds is None else time.monotonic() + seconds
        stopped: set[UUID] = set()
        while sites := [site for site in self.sites.all() if site.pk not in stopped]:
            for site in sites:
                if time.monotonic() > end:
                    return self.tally
                if not self._turn(site):
                    stopped.add(site.pk)
        return self.tally

    def _turn(self, site: Site) -> bool:
        """Upload one batch by each route; return whether any may have more to send."""
        try:
            turns = [self._send(site, route) for route in routes_of(site)]
        except DATABASE_DOWN:
            raise
        except Exception:  # of one site: the others go on
            logger.exception("upload for site %s failed", site.public_id)
            self.tally.notes.append(f"{site}: failed, see the log.")
            return False
        return any(turns)

    def _send(self, site: Site, route: Route) -> bool:
        # The site's circuit is about its own sender: nothing else probes it.
        turn = next_turn(site, route.rows) if route.is_sites_own else SiteTurn(route.rows)
        provider = self._logged_in(site, route) if turn else None
        if not turn or not provider:
            return False
        batch, rows = claim(site, turn, sender=route.sender)
        rows, duplicates = split_duplicates(provider, rows)
        # Before the upload is marked as sent: after a crash these rows must not count as possibly sent.
        put_back(batch, duplicates, DUPLICATE_IN_BATCH)
        rows = mark_sent(batch, rows)
        if not rows:
            return False
        job_id = UploadBatch.objects.values_list("job_id", flat=True).get(pk=batch)
        results = send(provider, rows, job_id=job_id)
        if not route.is_sites_own:
            results = change_results(results, without_gate)
        tally = settle_reply(batch, rows, results, is_probe=turn.probe is not None)
        self.tally.add(tally)
        logger.info("upload for site %s: %s", site.public_id, tally)
        if not route.is_sites_own:
            return True
        notes = update_circuits(site, rows, results, probe=turn.probe)
        self.tally.notes += notes
        return not notes

    def _logged_in(self, site: Site, route: Route) -> Provider | None:
        """Return the route's provider, logged in, unless its quota is used up for now.

        Rejected credentials open the circuit before rows are claimed.
        """
        try:
            provider: Provider = self.providers[site, route.sender, route.rows.model.lifecycle.queue]
            if not provider.can_send():
                return None
            provider.refresh()
        except (CredentialsRejected, DecryptionError) as error:
            code = getattr(error, "code", "CREDENTIALS_UNREADABLE")
            category = Category.TRANSIENT if getattr(error, "is_temporary", False) else Category.AUTH
            Circuit.objects.trip(site, code=code, category=category, reason=str(error))
            self.tally.notes.append(f"{site}: {error}")
            return None
        return provider


def dry_run_upload(site: Site, provider: Provider, *, limit: int = MOST_ROWS) -> Iterator[tuple[Conversion, RowResult]]:
    """Yield each due row with the answer to a validation; raise CredentialsRejected if the login fails."""
    rows = list(Conversion.objects.for_site(site).due().sent_by(sender_of(site)).order_by(*OLDEST_FIRST)[:limit])
    if rows:
        provider.refresh()
        rows, duplicates = split_duplicates(provider, rows)
        yield from zip(rows, provider.upload(rows, dry_run=True), strict=True)
        yield from ((row, DUPLICATE_IN_BATCH) for row in duplicates)


def next_turn(site: Site, rows: UploadableQuerySet[Any]) -> SiteTurn | None:
    """Return which of these rows a site may send now; an open circuit lets one probe through when it is due."""
    open_circuits: CircuitQuerySet = Circuit.objects.filter(site=site).open()
    by_action = {circuit.action: circuit for circuit in open_circuits}
    unblocked = rows.exclude(action__in=by_action) if by_action else rows
    if whole := by_action.get(Circuit.EVERY_ACTION):
        taken = rows.due().exists() and open_circuits.filter(pk=whole.pk).take_probe()
        # A row of a blocked conversion name says little about the account.
        return SiteTurn(unblocked if unblocked.due().exists() else rows, 1, whole) if taken else None
    for action, circuit in by_action.items():
        named_rows = rows.filter(action=action)
        if named_rows.due().exists() and open_circuits.filter(pk=circuit.pk).take_probe():
            return SiteTurn(named_rows, 1, circuit)
    return SiteTurn(unblocked, is_usual=rows.model is Conversion and not by_action)


def claim(site: Site, turn: SiteTurn, *, sender: SyncMethod | None = None) -> tuple[UUID, list[Any]]:
    """Claim rows for an upload by a sender; by default, and for all but retractions, it is the site's own."""
    batch, sender = uuid7(), sender or sender_of(site)
    with transaction.atomic():
        rows = claim_rows(site, turn, batch=batch, sender=sender)
        if rows:
            UploadBatch.objects.create(
                pk=batch,
                site=site,
                sender=sender,
                queue=turn.rows.model.lifecycle.queue,
                size=len(rows),
                is_probe=turn.probe is not None,
                job_id=UploadBatch.objects.next_job_id() if sender == SyncMethod.API else None,
            )
    return batch, rows


def claim_rows(site: Site, turn: SiteTurn, *, batch: UUID, sender: SyncMethod) -> list[Uploadable]:
    """Claim what is sent together, and a few rows that are sent alone.

    The claim checks that the site still has the sender that it had.
    """
    own, order = sender_of(site), LEAST_TRIED_FIRST if turn.probe else OLDEST_FIRST

    def claim_some(limit: int, *, alone: bool | None = None) -> list[Any]:
        if turn.is_usual:
            return claim_conversions(site, batch=batch, sender=own, limit=limit, alone=alone)
        rows = turn.rows if alone is None else turn.rows.filter(send_alone=alone)
        return rows.claim(limit=limit, batch=batch, sender=own, order=order)

    if sender != REPLIES_LATER or turn.probe:
        return claim_some(turn.limit)
    alone = claim_some(MOST_ALONE, alone=True)
    return claim_some(turn.limit, alone=False) + alone


def split_duplicates(provider: Provider, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Of two rows that the provider cannot tell apart, it would accept neither: the second one waits."""
    seen: set[tuple[Hashable, ...]] = set()
    unique: list[Row] = []
    duplicates: list[Row] = []
    for row in rows:
        identities = provider.identities(row)
        (unique if seen.isdisjoint(identities) else duplicates).append(row)
        seen.update(identities)
    return unique, duplicates


def mark_sent(batch: UUID, rows: Sequence[Row]) -> list[Row]:
    """Record that the upload is being sent, and return the rows it still holds: a sweep may have been faster."""
    if not rows:
        return []
    with transaction.atomic():
        # A sweep or an operator takes a row back before this lock, or knows that it was sent.
        UploadBatch.objects.lock([batch])
        return mark_rows_sent(batch, rows)


def send(provider: Provider, rows: Sequence[Uploadable], *, job_id: int | None = None) -> list[RowResult]:
    """Call the provider; an exception of its library becomes a result, so that rows do not stay claimed."""
    try:
        results = provider.upload(rows, dry_run=False, job_id=job_id)
        if len(results) != len(rows):
            raise ValueError(f"{len(results)} results for {len(rows)} rows")
        return results
    except Exception as error:
        logger.exception("the provider's library failed")
        message = sentences.UPLOAD_FAILED % {"error": type(error).__name__}
        lost = RowResult(Disposition.RETRY, UPLOADER_ERROR, Category.TRANSIENT, message, ambiguous=True)
        return [replace(lost, whole_request=True)] * len(rows)


def settle_reply(
    batch: UUID, rows: Sequence[Uploadable], results: Sequence[RowResult], *, is_probe: bool
) -> UploadTally:
    """Settle an answer; if the connection was lost during the call, retry, or all rows would be sent again.

    The task has this time: `handle_bell` leaves the last batch twice as much after its call.
    """
    return keep_trying(
        lambda: settle(batch, rows, results, is_probe=is_probe),
        seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 4,
        what=f"the answer to upload {batch}",
    )
