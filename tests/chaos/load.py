"""`make load`: many clients at once over all endpoints; no 5xx, no row lost, and memory that does not grow.

The stage is the chaos run's own, without a storm.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.chaos import world as worlds
from tests.chaos.clients import Client, ack, conversion, export, order, pdf
from tests.chaos.ledger import Ledger
from tests.chaos.stage import SERVICES, Stage, free_port

READING = ["/healthz", "/metrics", "/pdf/templates", "/jobs?limit=20", "/api/schema/", "/customers/lookup?phone=x"]
MOST_GROWTH = 1.25  # of the web server's memory, from a quarter of the time to the end


class Load:
    """What all clients met."""

    def __init__(self, world: dict[str, Any], folder: Path) -> None:
        """Count from nothing."""
        self.world, self.folder = world, folder
        self.answers: Counter[tuple[str, int]] = Counter()
        self.stop = threading.Event()

    def client(self, number: int) -> None:
        """Be one client until told to stop."""
        rng = random.Random(number)
        ledger = Ledger(self.folder / "ledger", f"client-{number}")
        script = Told(self, self.world["script_site"]["api_key"], ledger)
        service = Told(self, self.world["service_key"], ledger)
        while not self.stop.is_set():
            kind = rng.random()
            if kind < 0.3:
                self.bring(rng, script)
            elif kind < 0.5:
                ack(self.world, script, export(self.world, script, limit=rng.randint(1, 20)))
            elif kind < 0.52:
                service.ask("POST", "/pdf/jobs", pdf(self.world, rng))
            elif kind < 0.55:
                service.ask("POST", "/jobs", {**order(rng, number), "opti_mode": "C"})
            else:
                service.ask("GET", rng.choice(READING))

    def bring(self, rng: random.Random, client: "Told") -> None:
        """Bring conversions, and note those that were taken."""
        items = [conversion(rng, "script_site") for _ in range(rng.randint(1, 10))]
        body = {"siteId": self.world["script_site"]["public_id"], "conversions": items}
        status, told = client.ask("POST", "/api/oci/conversions", body)
        if status == 200:
            keys = [items[result["index"]]["sourceKey"] for result in told["results"] if result.get("id")]
            client.ledger.note("made", queue="conversion", ids=keys)


class Told(Client):
    """A client whose answers are counted."""

    def __init__(self, load: Load, key: str, ledger: Ledger) -> None:
        """Count for a load."""
        super().__init__(load.world, key, ledger)
        self.load = load

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask, and count the answer."""
        status, told = super().ask(method, path, body)
        self.load.answers[f"{method} {path.partition('?')[0]}", status] += 1
        return status, told


def memory(stage: Stage) -> float:
    """Return the megabytes that the web server holds; what its processes share counts once."""
    return sum(process.memory_full_info().pss for process in stage.members("web")) / 1024**2


def main() -> int:
    """Run, check, tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kilit-load-"))
    folder.chmod(0o711)
    try:
        return run(asked, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Set the stage, send everybody, and look at what is left."""
    os.environ.pop("CHAOS_OWN_MOUNTS", None)
    worlds.mount_disks(folder)
    port = int(os.environ.get("PORT") or free_port())
    environment = worlds.environment(folder, port=port, settings="config.settings", google={})
    environment |= {"WEB_CONCURRENCY": "2", "KILIT_PDF_QUEUE_LIMIT": "100000"}
    os.environ.clear()
    os.environ.update(environment)
    import django  # noqa: PLC0415 - its settings read the environment made above

    django.setup()
    from django.db import connection  # noqa: PLC0415

    from config.embedded.base import configured_server  # noqa: PLC0415
    from tests.chaos.outside import World, nothing_is_lost  # noqa: PLC0415

    stage = Stage(environment, folder / "logs")
    try:
        load = Load(worlds.furnish(folder, seed=0, port=port, seconds=asked.seconds), folder)
        stage.start(*(name for name in SERVICES if name in ("web", "worker-1")))
        stage.wait_for(f"http://127.0.0.1:{port}/readyz", seconds=180)
        threads = [threading.Thread(target=load.client, args=(number,)) for number in range(asked.clients)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(asked.seconds / 4)
        early = memory(stage)
        time.sleep(max(0.0, begun + asked.seconds - time.monotonic()))
        late = memory(stage)
        load.stop.set()
        for thread in threads:
            thread.join()
        lost = nothing_is_lost(World(folder / "ledger", folder, folder))
    finally:
        stage.stop()
        connection.close()
        configured_server().stop()
    return tell(asked, load, early=early, late=late, lost=lost, restarts=stage.restarts)


def tell(asked: argparse.Namespace, load: Load, *, early: float, late: float, lost: list[str], restarts: int) -> int:
    """Print what was met, and return an exit code."""
    bad = {key: number for key, number in load.answers.items() if key[1] >= 500 or key[1] == 0}
    lines = [f"{asked.clients} clients for {asked.seconds:.0f} s: {load.answers.total()} requests."]
    lines += ["", "| request | answers |", "|---|---|"]
    for path in sorted({path for path, _ in load.answers}):
        found = {status: number for (name, status), number in sorted(load.answers.items()) if name == path}
        lines.append(f"| {path} | {', '.join(f'{status}: {number}' for status, number in found.items())} |")
    lines += ["", f"- 5xx or no answer: {sum(bad.values())}", f"- rows lost: {len(lost)}"]
    lines += [f"- memory of the web server: {early:.0f} MB after a quarter of the time, {late:.0f} MB at the end"]
    sys.stdout.write("\n".join([*lines, ""]))
    return 1 if bad or lost or restarts or late > early * MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
