"""After the storm: the power goes and comes back, time passes, and everything is given the chance to end.

The calm is over when nothing is left to end. It gives up when nothing can move any more: no event for many turns, also
after all leases, claims and waits have passed, and no limit of the rules runs. It counts turns, not seconds: a turn
works through the same web server and database as everything else, so it takes longer on a slow machine.
"""

import json
import logging
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.db.models import Count as Number

from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from kilit.workers.sweeps import run, sweeps
from ociqueue.models import Adjustment, Conversion
from tests.support.waiting import wait_until
from tests.system.chaos import leaps, ledger, office, pending
from tests.system.chaos.clients import Client, ack, export
from tests.system.chaos.invariants import QUEUES
from tests.system.chaos.ledger import Ledger
from tests.system.chaos.pending import LIMIT, Pending
from tests.system.chaos.questions import rows
from tests.system.chaos.stage import CLIENTS, SERVICES, Stage
from tests.system.chaos.telling import tell

logger = logging.getLogger(__name__)

QUIET_TURNS = 200  # without any move
TELL_EVERY = 50  # turns without any move
SHORTEST_TURN = 0.5  # seconds
TAKEN_BACK = (
    *("oci_recover_processing", "oci_end_unsendable", "pdf_reap", "orchestrator_release_lapsed", "outbox_recover"),
)
LONGEST_WAIT = 0.2  # minutes, for a solution and for the saw


class Step(Enum):
    """What to do after a turn."""

    WAIT = "wait"
    LEAP = "leap"
    GIVE_UP = "give up"


@dataclass
class Patience:
    """Decides whether anything can still move; no clock of this machine takes part."""

    progress: tuple[Any, ...] = ()
    turns: int = 0
    leapt: bool = False

    def step(self, progress: tuple[Any, ...], left: list[Pending]) -> Step:
        """Return what to do after a turn that left these rows."""
        if progress != self.progress:
            self.progress, self.turns, self.leapt = progress, 0, False
            return Step.WAIT
        self.turns += 1
        if self.turns < QUIET_TURNS:
            return Step.WAIT
        if not self.leapt:
            # A worker may be lost: what it holds lapses too.
            self.turns, self.leapt = 0, True
            return Step.LEAP
        runs = any(one.what == LIMIT and one.seconds is not None and one.seconds > 0 for one in left)
        return Step.WAIT if runs else Step.GIVE_UP


def settle(stage: Stage, world: dict[str, Any], folder: Path) -> list[str]:
    """Bring everything to its end, as the days after an outage would; return why it gave up, if it did."""
    # Nobody keeps what it held: then all leases may lapse, and none is taken from the living any more.
    stage.kill(*[name for name in (*CLIENTS, *SERVICES) if name in stage.running])
    connection.close()
    wait_until(is_alone)
    leaps.lapse()
    hasten(folder / "rules.json")
    stage.start(*SERVICES)
    stage.wait_for(f"http://127.0.0.1:{world['port']}/healthz")
    client = Client(world, world["script_site"]["api_key"], Ledger(folder / "ledger", "calm"))
    reasons = wait_for_the_end(stage, world, client)
    stage.kill(*SERVICES)
    wait_until(is_alone)
    erase_again(folder)
    clean_up()
    return reasons


def wait_for_the_end(stage: Stage, world: dict[str, Any], client: Client) -> list[str]:
    """Take turns until nothing is left, or until nothing can move any more."""
    since = Event.objects.order_by("-id").values_list("id", flat=True).first() or 0
    patience = Patience()
    while True:
        stage.tend()
        begun = time.monotonic()
        try:
            if not pending.waiting():
                return []
            take_turn(world, client)
            left = pending.find_pending()
            step = patience.step(pending.progress(), left)
            reasons = pending.endless(since) or (list(map(str, left)) if step is Step.GIVE_UP else [])
            if step is Step.GIVE_UP or reasons:
                return reasons or ["events are left that no reader has read"]
            if patience.turns and patience.turns % TELL_EVERY == 0:
                found = pending.summary(left) or "events that no reader has read"
                tell(f"calm: nothing has moved for {patience.turns} turns; left: {found}")
            if step is Step.LEAP:
                tell("calm: leases, claims and waits pass now")
                leaps.lapse()
        except Error:
            logger.warning("the database does not answer", exc_info=True)
            connection.close()
        took = time.monotonic() - begun
        time.sleep(max(took, SHORTEST_TURN - took))  # as long as the turn: the services need the machine


def hasten(rules: Path) -> None:
    """Let the factory wait less: orders whose solution never comes follow each other through the only slot."""
    waits = json.loads(rules.read_text())["timeouts"]
    office.change_rules(rules, timeouts={name: min(minutes, LONGEST_WAIT) for name, minutes in waits.items()})


def is_alone() -> bool:
    """Tell whether the database has done all that the killed asked for: it finishes a statement without its client."""
    try:
        ((others,),) = rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
    except Error:  # struck just now
        connection.close()
        return False
    return not others


def take_turn(world: dict[str, Any], client: Client) -> None:
    """Let waiting times pass, sweep, and have people cut and a script send what is left."""
    leaps.make_due()
    for name in TAKEN_BACK:
        run(name)
    with acting_as("sweep:chaos"):
        Conversion.objects.cap()
        Adjustment.objects.cap()
    office.cut_the_rest()
    ack(world, client, export(world, client, limit=200))


def erase_again(folder: Path) -> None:
    """Erase everybody who asked for it once more: rows that had not ended were left."""
    for address in ledger.counted(folder / "ledger", "forgotten"):
        office.erase(address)


def clean_up() -> None:
    """Run every sweep once more; files of nobody are old by then."""
    leaps.age_files(settings.KILIT_VAR / "artifacts")
    for name in sorted(set(sweeps) - {"oci_upload", "oci_verdicts"}):
        run(name)


def states() -> dict[str, dict[str, int]]:
    """Return how rows ended, by queue."""
    return {
        table.queue: dict(model.objects.values_list("status").annotate(Number("pk")).order_by())
        for table, model, *_ in QUEUES
    }
