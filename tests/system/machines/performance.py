"""One run: a worker, a runner and the web server are cut off while they hold work, others go on, and all is checked."""

import argparse
import time
from pathlib import Path

from django.db import Error, connection

from tests.support.waiting import wait_until
from tests.system.chaos import calm, checking
from tests.system.chaos import world as worlds
from tests.system.chaos.questions import rows
from tests.system.chaos.report import Report
from tests.system.chaos.stage import CLIENTS
from tests.system.chaos.strikes import Storm
from tests.system.chaos.telling import tell
from tests.system.machines.network import Network

LOAD = 60.0  # as much of everything as in a chaos run of so many seconds
ALONE = ("web", "worker-1", "runner-1", "machines")  # their partners start when these are cut off
# What the only worker, the only runner and the only web server hold.
HELD = {
    "worker-1": """SELECT (SELECT count(*) FROM pdfjobs_pdfjob WHERE status = 'running')
        + (SELECT count(*) FROM offline_conversion_queue WHERE status = 'PROCESSING' AND open_batch_id IS NOT NULL)
        + (SELECT count(*) FROM outbox_outboxmessage WHERE status = 'SENDING')""",
    "runner-1": "SELECT count(*) FROM orchestrator_job WHERE claim_token IS NOT NULL",
    "web": """SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'""",
}
PARTNERS = {"worker-1": "worker-2", "runner-1": "runner-2"}


def perform(asked: argparse.Namespace, folder: Path, storm: Storm, network: Network) -> Report:
    """Return what was found."""
    stage, begun = storm.stage, time.monotonic()
    receiver = storm.outside.receiver
    world = worlds.furnish(folder, seed=asked.seed, port=network.port, seconds=LOAD, receiver=receiver)
    network.build("web", "worker-1", "worker-2", "runner-1", "runner-2")
    tell(f"machines: seed {asked.seed}, {folder}")
    stage.start(*ALONE)
    stage.wait_for(f"http://127.0.0.1:{network.port}/readyz")
    stage.start(*CLIENTS)
    for name in HELD:
        cut_off(name, storm, network, seconds=asked.seconds)
    end = time.monotonic() + asked.seconds
    storm.wait(until=lambda: False, end=end)
    network.join_all()
    tell(f"machines: all are joined again after {time.monotonic() - begun:.0f} s")
    # They go on with what they held, beside their partners.
    storm.wait(until=lambda: False, end=time.monotonic() + min(asked.seconds, 30))
    unfinished = calm.settle(stage, world, folder)
    report = checking.check(asked.seed, folder, storm, seconds=time.monotonic() - begun, unfinished=unfinished)
    report.in_play = {}  # that is for storms, which provoke everything
    report.notes.append(f"{stage.restarts} services started again")
    return report


def cut_off(name: str, storm: Storm, network: Network, *, seconds: float) -> None:
    """Wait until a service holds work, and cut it off from the database; its partner starts."""
    held = wait_until(lambda: holds(name, storm), every=0.02)
    network.machines[name].cut()
    tell(f"machines: {name} is cut off for {seconds:.0f} s, it holds {held}")
    storm.struck[f"cut off {name} from the database for {seconds:.0f} s"] += 1
    if partner := PARTNERS.get(name):
        storm.stage.start(partner)


def holds(name: str, storm: Storm) -> int:
    """Return how much a service holds."""
    storm.stage.tend()
    try:
        ((number,),) = rows(HELD[name])
    except Error:
        connection.close()
        return 0
    return int(number)
