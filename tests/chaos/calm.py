"""After the storm: the power goes and comes back, time passes, and everything is given the chance to end."""

import json
import logging
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count as Number

from kilit.lock.audit import acting_as
from kilit.workers.sweeps import run, sweeps
from ociqueue.models import Adjustment, Conversion
from outbox import log_reader
from tests.chaos import leaps
from tests.chaos.clients import Client, ack, export
from tests.chaos.invariants import QUEUES, rows
from tests.chaos.ledger import Ledger
from tests.chaos.stage import CLIENTS, SERVICES, Stage
from tests.support.waiting import wait_until

logger = logging.getLogger(__name__)

STILL = 45.0  # seconds without any end
LONGEST_WAIT = 0.2  # minutes, for a solution and for the saw


def settle(stage: Stage, world: dict[str, Any], folder: Path, *, end: float) -> None:
    """Bring everything to its end, as the days after an outage would."""
    # Nobody keeps what it held: then all leases may lapse, and none is taken from the living any more.
    stage.kill(*[name for name in (*CLIENTS, *SERVICES) if name in stage.running])
    connection.close()
    wait_until(is_alone)
    leaps.lapse()
    hasten(folder / "rules.json")
    stage.start(*SERVICES)
    stage.wait_for(f"http://127.0.0.1:{world['port']}/healthz")
    client = Client(world, world["script_site"]["api_key"], Ledger(folder / "ledger", "calm"))
    left, since = waiting(), time.monotonic()
    while left and time.monotonic() < end:
        stage.tend()
        try:
            if time.monotonic() > since + STILL:  # a busy machine has lost a worker: its quarter of an hour passes too
                leaps.lapse()
                since = time.monotonic()
            take_turn(world, client)
            now = waiting()
            left, since = now, since if now == left else time.monotonic()
        except leaps.AWAY:
            logger.warning("the database does not answer", exc_info=True)
            connection.close()
        time.sleep(0.5)
    stage.kill(*SERVICES)
    wait_until(is_alone)
    clean_up()


def hasten(rules: Path) -> None:
    """Let the factory wait less: orders whose solution never comes follow each other through the only slot."""
    shortened = json.loads(rules.read_text())
    shortened["timeouts"] = {name: min(minutes, LONGEST_WAIT) for name, minutes in shortened["timeouts"].items()}
    hastened = rules.with_suffix(".new")
    hastened.write_text(json.dumps(shortened))
    hastened.replace(rules)


def is_alone() -> bool:
    """Tell whether the database has done all that the killed asked for: it finishes a statement without its client."""
    try:
        ((others,),) = rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
    except leaps.AWAY:  # struck just now
        connection.close()
        return False
    return not others


def take_turn(world: dict[str, Any], client: Client) -> None:
    """Let waiting times pass, sweep, and have a script send what is left."""
    leaps.make_due()
    for name in ("oci_recover_processing", "pdf_reap", "orchestrator_release_lapsed", "outbox_recover"):
        run(name)
    with acting_as("sweep:chaos"):
        Conversion.objects.cap()
        Adjustment.objects.cap()
    ack(world, client, export(world, client, limit=200))


def clean_up() -> None:
    """Run every sweep once more; files of nobody are old by then."""
    leaps.age_files(settings.KILIT_VAR / "artifacts")
    for name in sorted(set(sweeps) - {"oci_upload", "oci_verdicts"}):
        run(name)


def waiting() -> int:
    """Return how many rows have not ended and wait for nobody; events that were not read count as one more."""
    return log_reader.is_due() + sum(model.objects.exclude(status__in=ends).count() for _, model, _, ends in QUEUES)


def states() -> dict[str, dict[str, int]]:
    """Return how rows ended, by queue."""
    return {
        table.queue: dict(model.objects.values_list("status").annotate(Number("pk")).order_by())
        for table, model, *_ in QUEUES
    }
