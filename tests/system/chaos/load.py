"""`make load`: many clients at once over all endpoints; no 5xx, no row lost, and memory that does not grow.

The stage is the chaos run's own, without a storm.
"""

import argparse
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.support.commands import free_port
from tests.system.chaos import world as worlds
from tests.system.chaos.crowd import Crowd
from tests.system.chaos.stage import Stage

MOST_GROWTH = 1.25  # of the web server's memory, from a quarter of the time to the end


def memory(stage: Stage) -> float:
    """Return the megabytes that the web server holds; what its processes share counts once."""
    return sum(process.memory_full_info().pss for process in stage.members("web")) / 1024**2


def main() -> int:
    """Run, check, tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.chaos.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # processes are started while the server's threads run
    folder = Path(tempfile.mkdtemp(prefix="kilit-load-"))
    folder.chmod(0o711)
    try:
        return run(asked, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Set the stage, send everybody, and look at what is left."""
    from simulators.datamanager.server import DataManagerServer
    from simulators.googleads.server import GoogleAdsServer
    from simulators.webhooks.receiver import WebhookReceiver

    os.environ.pop("CHAOS_OWN_MOUNTS", None)
    worlds.mount_disks(folder)
    google, data_manager = GoogleAdsServer(folder).start(), DataManagerServer().start()
    receiver = WebhookReceiver([worlds.SECRET]).start()
    port, cron_secret = int(os.environ.get("PORT") or free_port()), secrets.token_hex()
    simulated = {**data_manager.environment, **google.environment}
    environment = worlds.environment(folder, port=port, settings="config.settings.server", google=simulated)
    environment |= {"WEB_CONCURRENCY": "2", "KILIT_PDF_QUEUE_LIMIT": "100000", "KILIT_CRON_SECRET": cron_secret}
    os.environ.clear()
    os.environ.update(environment)
    import django

    django.setup()
    from django.db import connection

    from kilit.postgres.base import configured_server
    from tests.system.chaos.outside import World, nothing_is_lost

    stage = Stage(environment, folder / "logs")
    try:
        world = worlds.furnish(folder, seed=0, port=port, seconds=asked.seconds, receiver=receiver)
        crowd = Crowd(world, folder, cron_secret=cron_secret, session=worlds.log_in())
        stage.start("web", "worker-1", "runner-1", "machines")
        stage.wait_for(f"http://127.0.0.1:{port}/readyz")
        threads = [threading.Thread(target=crowd.join, args=(number,)) for number in range(asked.clients)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(asked.seconds / 4)
        early = memory(stage)
        time.sleep(max(0.0, begun + asked.seconds - time.monotonic()))
        late = memory(stage)
        crowd.over.set()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
        lost = nothing_is_lost(World(folder / "ledger", folder, folder))
    finally:
        stage.stop()
        google.stop()
        data_manager.stop()
        receiver.stop()
        connection.close()
        configured_server().stop()
    return tell(asked, crowd, took=took, early=early, late=late, lost=lost)


def tell(asked: argparse.Namespace, crowd: Crowd, *, took: float, early: float, late: float, lost: list[str]) -> int:
    """Print what was met, and return an exit code."""
    bad = {key: number for key, number in crowd.answers.items() if key[1] >= 500 or key[1] == 0}
    total = crowd.answers.total()
    lines = [f"{asked.clients} clients for {asked.seconds:.0f} s: {total} requests, {total / took:.0f} in a second."]
    lines += ["", "| request | answers |", "|---|---|"]
    for path in sorted({path for path, _ in crowd.answers}):
        found = {status: number for (name, status), number in sorted(crowd.answers.items()) if name == path}
        lines.append(f"| {path} | {', '.join(f'{status}: {number}' for status, number in found.items())} |")
    lines += ["", f"- 5xx or no answer: {sum(bad.values())}", f"- rows lost: {len(lost)}", *lost[:5]]
    lines += [f"- memory of the web server: {early:.0f} MB after a quarter of the time, {late:.0f} MB at the end"]
    sys.stdout.write("\n".join([*lines, ""]))
    return 1 if bad or lost or late > early * MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
