"""The run: log in, claim, write down, send, settle; one batch a site in turn, so that none waits for another's backlog.

Nothing is open in the database while the provider is asked, and every step leaves behind what a crash after it needs.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet

from kilit.lock.audit import acting_as, current_context
from kilit.lock.identity import uuid7
from ociqueue.models import Circuit, Conversion, Credentials, Site, UploadBatch
from ociqueue.models.circuit import CircuitQuerySet
from ociqueue.models.encryption import Unreadable
from ociqueue.models.queryset import LEAST_TRIED_FIRST, OLDEST_FIRST, ConversionQuerySet
from ociqueue.states import Category
from ociqueue.uploader import circuits
from ociqueue.uploader.due import due_sites
from ociqueue.uploader.duplicates import TWIN, apart
from ociqueue.uploader.googleads import MOST_ROWS, GoogleAds
from ociqueue.uploader.results import BROKEN_OFF, CredentialsRefused, Disposition, Outcome, Provider
from ociqueue.uploader.settle import Tally, put_back, settle

logger = logging.getLogger(__name__)

ACTOR = "uploader"
OUTAGE = 2  # uploads lost in a row; one alone may be a hiccup
TRY_AGAIN_AFTER = 0.5  # seconds


def upload_due(*, sites: QuerySet[Site] | None = None, seconds: float | None = None) -> Tally:
    """Upload what is due, for at most about so many seconds: what is left rings again."""
    with acting_as(current_context().actor or ACTOR):
        return Run(due_sites() if sites is None else sites).upload(seconds=seconds)


def answer_bell() -> str:
    """Upload within what a worker's task may take: the last batch has the time of a whole one."""
    return str(upload_due(seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 2))


@dataclass(frozen=True)
class Turn:
    """What a site may send now: all that is due, or one row that probes an open circuit."""

    rows: ConversionQuerySet
    limit: int = MOST_ROWS
    probe: Circuit | None = None


class Run:
    """One run over several sites, each with its connection to the provider."""

    def __init__(self, sites: QuerySet[Site]) -> None:
        self.sites = sites
        self.providers: dict[UUID, Provider] = {}
        self.tally = Tally()

    def upload(self, *, seconds: float | None = None) -> Tally:
        """Give every site a turn, again and again, until nothing is due or the time is over."""
        end = math.inf if seconds is None else time.monotonic() + seconds
        resting: set[UUID] = set()
        while sites := list(self.sites.exclude(pk__in=resting)):
            for site in sites:
                if time.monotonic() > end:
                    return self.tally
                if not self._safe_turn(site):
                    resting.add(site.pk)
        return self.tally

    def _safe_turn(self, site: Site) -> bool:
        """Upload one batch; whatever goes wrong with one site is no other site's business."""
        try:
            return self._turn(site)
        except (OperationalError, InterfaceError):
            raise  # the database is away, for everybody
        except Exception:
            logger.exception("the turn of site %s broke off", site.public_id)
            self.tally.notes.append(f"{site}: broke off, the log says why.")
            return False

    def _turn(self, site: Site) -> bool:
        """Upload one batch; tell whether the site may go on."""
        turn = turn_of(site)
        provider = self._logged_in(site) if turn else None
        if not turn or not provider:
            return False
        batch, rows = claim(site, turn)
        rows, twins = apart(provider, rows)
        # Before the upload is written down as sent: a crash afterwards must not make rows doubtful that stayed here.
        put_back(batch, twins, TWIN)
        rows = hold(batch, rows)
        if not rows:
            return False
        outcomes = ask(provider, rows)
        tally = write_down(batch, rows, outcomes, is_probe=turn.probe is not None)
        self.tally.add(tally)
        logger.info("upload of site %s: %s", site.public_id, tally)
        stopped = circuits.learn(site, rows, outcomes, probe=turn.probe, outage=is_outage(site))
        self.tally.notes += stopped
        return not stopped

    def _logged_in(self, site: Site) -> Provider | None:
        """Return the site's provider, logged in; a refused login opens the circuit before anything is claimed."""
        try:
            provider = self.providers.get(site.pk) or google_ads(site)
            self.providers[site.pk] = provider
            provider.refresh()
        except (CredentialsRefused, Unreadable) as refusal:
            passing = getattr(refusal, "passing", False)
            code = getattr(refusal, "code", "CREDENTIALS_UNREADABLE")
            category = Category.TRANSIENT if passing else Category.AUTH
            Circuit.objects.trip(site, code=code, category=category, reason=str(refusal))
            self.tally.notes.append(f"{site}: {refusal}")
            return None
        return provider


def google_ads(site: Site) -> Provider:
    """Return the provider for a site's stored login."""
    return GoogleAds(Credentials.objects.get(site=site).account())


def turn_of(site: Site) -> Turn | None:
    """Return what a site may send now; an open circuit lets one probe through when its time has come."""
    rows = Conversion.objects.for_site(site)
    open_circuits: CircuitQuerySet = Circuit.objects.filter(site=site).open()
    held_back = {circuit.action: circuit for circuit in open_circuits}
    free = rows.exclude(action__in=held_back)
    if whole := held_back.get(Circuit.EVERY_ACTION):
        taken = open_circuits.filter(pk=whole.pk).take_probe()
        # A row of a conversion name that is held back says little about the account.
        return Turn(free if free.due().exists() else rows, 1, whole) if taken else None
    for action, circuit in held_back.items():
        mine = rows.filter(action=action)
        if mine.due().exists() and open_circuits.filter(pk=circuit.pk).take_probe():
            return Turn(mine, 1, circuit)
    return Turn(free)


def claim(site: Site, turn: Turn) -> tuple[UUID, list[Conversion]]:
    """Claim rows for a new upload: both are there, or neither."""
    batch = uuid7()
    order = LEAST_TRIED_FIRST if turn.probe else OLDEST_FIRST
    with transaction.atomic():
        rows = turn.rows.claim(limit=turn.limit, batch=batch, order=order)
        if rows:
            UploadBatch.objects.create(pk=batch, site=site, size=len(rows), is_probe=turn.probe is not None)
    return batch, rows


def hold(batch: UUID, rows: Sequence[Conversion]) -> list[Conversion]:
    """Write down that the upload goes out, and return what it still holds: a sweep may have been faster."""
    if not rows:
        return []
    held = Conversion.objects.in_batch(batch)
    with transaction.atomic():
        # Whoever takes a row back does so before this look, or knows that it went out.
        UploadBatch.objects.keep([batch])
        still = list(rows) if held.count() == len(rows) else _still_held(held, rows)
        sent = bool(still) and UploadBatch.objects.send(batch, rows=held)
    return still if sent else []


def _still_held(held: ConversionQuerySet, rows: Sequence[Conversion]) -> list[Conversion]:
    ids = set(held.values_list("pk", flat=True))
    return [row for row in rows if row.pk in ids]


def ask(provider: Provider, rows: Sequence[Conversion]) -> list[Outcome]:
    """Ask the provider, whatever its library may throw."""
    try:
        told = provider.upload(rows, dry_run=False)
        if len(told) != len(rows):
            raise ValueError(f"{len(told)} outcomes for {len(rows)} rows")  # noqa: TRY301
        return told  # noqa: TRY300
    except Exception as error:
        # Rows do not stay claimed: nobody knows whether they were sent.
        logger.exception("the provider failed with an error of its own")
        return [
            Outcome(
                Disposition.RETRY,
                code=BROKEN_OFF,
                category=Category.TRANSIENT,
                message=f"The upload broke off: {type(error).__name__}.",
                ambiguous=True,
                whole_request=True,
            )
        ] * len(rows)


def write_down(batch: UUID, rows: Sequence[Conversion], outcomes: Sequence[Outcome], *, is_probe: bool) -> Tally:
    """Settle an answer; a connection that was lost while the provider was asked must not lose it, or all is sent again.

    The task has this time: `answer_bell` leaves the last batch twice as much after its call.
    """
    end = time.monotonic() + (settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 4
    while True:
        try:
            return settle(batch, rows, outcomes, is_probe=is_probe)
        except (OperationalError, InterfaceError):
            if connection.in_atomic_block or time.monotonic() > end:
                raise
            logger.warning("the database does not answer; the answer to upload %s is kept", batch, exc_info=True)
            connection.close()
            time.sleep(TRY_AGAIN_AFTER)


def is_outage(site: Site) -> bool:
    """Tell whether a site's last uploads were lost, in this run or in earlier ones."""
    last = UploadBatch.objects.filter(site=site).answered().values_list("is_lost", flat=True)[:OUTAGE]
    return list(last) == [True] * OUTAGE
