"""Clients over HTTP: the chaos run's, and writers who send rows all the time, so that silence is measured."""

import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kilit.workers.processes import die_with_parent
from tests.system.chaos.clients import Client, conversion, produce, script
from tests.system.chaos.ledger import Ledger

WRITERS = 6  # half of them for each web server
MOST_ROWS = 6  # in one request
SITE = "script_site"


class TimedLedger(Ledger):
    """A ledger whose lines have the time; all processes of the machine share this clock."""

    def note(self, what: str, **facts: Any) -> None:
        """Write one line."""
        super().note(what, at=time.monotonic(), **facts)


def write(world: dict[str, Any], ledger: Ledger, number: int) -> None:
    """Send rows permanently; those without a good answer are sent again with the same keys, as the answer says."""
    rng = random.Random(f"{world['seed']} writer {number} {time.monotonic()}")
    port = world["ports"][number % len(world["ports"])]
    client = Client({**world, "port": port}, world[SITE]["api_key"], ledger)
    while True:
        items = [conversion(rng, SITE) for _ in range(rng.randint(1, MOST_ROWS))]
        body = {"siteId": world[SITE]["public_id"], "conversions": items}
        status = 0
        while status != 200:
            status, reply = client.ask("POST", "/api/oci/conversions", body)
            if 400 <= status < 500:
                ledger.note("mistaken", path="/api/oci/conversions", status=status, reply=reply)
            time.sleep(rng.uniform(0.2, 0.4))
        keys = [items[result["index"]]["sourceKey"] for result in reply["results"] if result.get("id")]
        ledger.note("made", queue="conversion", ids=keys)


def main(role: str) -> None:
    """Take turns until killed."""
    die_with_parent()
    folder = Path(os.environ["CHAOS_FOLDER"])
    world = json.loads((folder / "world.json").read_text())
    name = os.environ["CHAOS_NAME"]
    ledger = TimedLedger(folder / "ledger", name)
    if role == "writers":
        for number in range(WRITERS):
            threading.Thread(target=write, args=(world, ledger, number), daemon=True).start()
        threading.Event().wait()
    port = world["ports"][int(name.rpartition("-")[2]) % len(world["ports"])]
    # One that is started again does not repeat itself.
    rng = random.Random(f"{world['seed']} {name} {os.fstat(ledger.file).st_size}")
    turn = {"producer": produce, "script": script}[role]({**world, "port": port}, rng, ledger)
    while True:
        turn()


if __name__ == "__main__":
    main(sys.argv[1])
