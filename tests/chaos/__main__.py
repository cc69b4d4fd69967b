"""`make chaos`: one run by a seed; exit 1 and the breaches when anything did not hold."""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos import world as worlds
from tests.chaos.stage import CLIENTS, SERVICES, Stage
from tests.support.commands import free_port

GRACE = 10  # seconds to tell what was found, and to stop everything
SETTINGS = {"": "config.settings", "claim": "tests.chaos.without.claim"}


def read_arguments() -> argparse.Namespace:
    """Read what is asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="repeats the strikes of a run")
    parser.add_argument("--seconds", type=float, default=100.0, help="of the storm itself")
    parser.add_argument("--limit", type=float, default=290.0, help="seconds for everything")
    parser.add_argument("--without", choices=[name for name in SETTINGS if name], default="", help="a guard to remove")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the run, with its logs")
    return parser.parse_args()


def in_own_mounts() -> None:
    """Start again in a mount namespace of our own, where root may mount small disks."""
    if os.geteuid() or os.environ.get("CHAOS_OWN_MOUNTS") or not shutil.which("unshare"):
        return
    again = [sys.executable, "-m", "tests.chaos", *sys.argv[1:]]
    tried = "mount -t tmpfs tmpfs /mnt 2>/dev/null && umount /mnt"
    script = f'if {tried}; then CHAOS_OWN_MOUNTS=1; else CHAOS_OWN_MOUNTS=0; fi; export CHAOS_OWN_MOUNTS; exec "$@"'
    try:
        os.execvp(  # noqa: S606 - the same program again
            "unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *again]
        )
    except OSError:
        os.environ["CHAOS_OWN_MOUNTS"] = "0"


def main() -> int:
    """Run, check, tell."""
    asked = read_arguments()
    in_own_mounts()
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # processes are started while the server's threads run
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("chaos: stopped"))  # and everything is stopped on the way
    # Whatever hangs, the run does not.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"chaos: not over within {asked.limit:.0f} s"))
    signal.alarm(round(asked.limit) + GRACE)
    folder = Path(tempfile.mkdtemp(prefix="kilit-chaos-"))
    folder.chmod(0o711)  # PostgreSQL's own user must pass through it to its data
    try:
        return run(asked, folder)
    finally:
        if not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)


def tell(words: str) -> None:
    """Say it at once: a run takes minutes."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Set the stage, let the storm rage, let it calm down, and check."""
    from simulators.datamanager.server import DataManagerServer  # noqa: PLC0415
    from simulators.googleads.server import GoogleAdsServer  # noqa: PLC0415 - Google's messages take a while to load
    from simulators.webhooks.receiver import WebhookReceiver  # noqa: PLC0415

    begun = time.monotonic()
    disks = worlds.mount_disks(folder)
    google, data_manager = GoogleAdsServer(folder).start(), DataManagerServer().start()
    receiver = WebhookReceiver([worlds.SECRET]).start()
    port = int(os.environ.get("PORT") or free_port())
    simulated = {**data_manager.environment, **google.environment}
    environment = worlds.environment(folder, port=port, settings=SETTINGS[asked.without], google=simulated)
    os.environ.clear()
    os.environ.update(environment)
    import django  # noqa: PLC0415 - its settings read the environment made above

    django.setup()
    from kilit.postgres.base import configured_server  # noqa: PLC0415
    from tests.chaos import calm, checking, strikes  # noqa: PLC0415

    stage = Stage(environment, folder / "logs")
    storm = strikes.Storm(stage, google, data_manager, receiver, disks, folder / "floor")
    try:
        world = worlds.furnish(folder, seed=asked.seed, port=port, seconds=asked.seconds, receiver=receiver)
        tell(f"chaos: seed {asked.seed}, {folder}")
        stage.start(*SERVICES)
        stage.wait_for(f"http://127.0.0.1:{port}/readyz")
        stage.start(*CLIENTS)
        time.sleep(2)
        tell(f"chaos: the storm begins after {time.monotonic() - begun:.0f} s")
        breach = checking.Breach()
        storm.rage(strikes.schedule(asked.seed, asked.seconds), until=breach if asked.without else lambda: False)
        if asked.without:  # on a busy machine clients may not have met by now; without a guard they will
            storm.wait(until=breach, end=begun + asked.limit / 2)
        calm_at = time.monotonic()
        tell(f"chaos: calm after {calm_at - begun:.0f} s")
        if breach.seen:
            stage.stop()
            report = checking.check_moment(asked.seed, storm, seconds=asked.seconds)
        else:
            calm.settle(stage, world, folder, end=max(begun + asked.limit - 15, calm_at + 20))
            report = checking.check(asked.seed, folder, storm, seconds=asked.seconds)
        report.notes += [
            f"{time.monotonic() - begun:.0f} s in all, {stage.restarts} services started again",
            "the full disk was a tmpfs of 12 MB" if disks else "no mounts: the full disk was RLIMIT_FSIZE of 0",
        ]
    finally:
        stage.stop()
        for server in (google, data_manager, receiver):
            server.stop()
        from django.db import connection  # noqa: PLC0415

        connection.close()
        configured_server().stop()
        if not asked.keep:
            worlds.unmount(disks)
    tell(report.format())
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
