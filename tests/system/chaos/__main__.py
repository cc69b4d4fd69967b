"""`make chaos`: a run by a seed, or several in a row; exit 1 and the breaches when anything did not hold."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.support.commands import free_port
from tests.system.chaos import world as worlds
from tests.system.chaos.run_room import add_run_options, run_in_room
from tests.system.chaos.simulated import Outside
from tests.system.chaos.stage import Stage
from tests.system.chaos.telling import tell

SETTINGS = {"": "config.settings.server", "claim": "tests.system.chaos.without.claim"}


def read_arguments() -> argparse.Namespace:
    """Read what is asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="repeats the strikes of a run")
    parser.add_argument("--seconds", type=float, default=100.0, help="of the storm itself")
    parser.add_argument("--seeds", type=int, nargs="+", default=[], help="several runs, one after the other")
    parser.add_argument("--without", choices=[name for name in SETTINGS if name], default="", help="a guard to remove")
    add_run_options(parser)
    return parser.parse_args()


def in_own_mounts() -> None:
    """Start again in a mount namespace of our own, where root may mount small disks."""
    if os.geteuid() or os.environ.get("CHAOS_OWN_MOUNTS") or not shutil.which("unshare"):
        return
    again = [sys.executable, "-m", "tests.system.chaos", *sys.argv[1:]]
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
    if asked.seeds:
        return run_each(asked.seeds)
    in_own_mounts()
    return run_in_room("chaos", asked, run)


def run_each(seeds: list[int]) -> int:
    """Run seeds one after the other, each as a process of its own, and end with the verdict of each."""
    at = sys.argv.index("--seeds")
    others = [*sys.argv[1:at], *sys.argv[at + 1 + len(seeds) :]]
    verdicts = []
    for seed in seeds:
        command = [sys.executable, "-m", "tests.system.chaos", "--seed", str(seed), *others]
        lines = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            for line in process.stdout or ():
                tell(line.rstrip("\n"))
                lines.append(line.strip())
        verdicts.append((process.returncode, next((line for line in reversed(lines) if line), f"seed {seed}: no word")))
    tell("\n" + "\n".join(line for _, line in verdicts))
    return max(code != 0 for code, _ in verdicts)


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Start what is outside, set the stage, and tell what was found."""
    begun = time.monotonic()
    disks = worlds.mount_disks(folder)
    with Outside.started(folder) as outside:
        port = int(os.environ.get("PORT") or free_port())
        settings = SETTINGS[asked.without]
        environment = worlds.environment(folder, port=port, settings=settings, google=outside.environment)
        os.environ.clear()
        os.environ.update(environment)
        import django

        django.setup()
        from kilit.postgres.base import configured_server
        from tests.system.chaos.performance import perform
        from tests.system.chaos.strikes import Storm

        storm = Storm(Stage(environment, folder / "logs"), outside, disks, folder / "floor")
        try:
            report = perform(asked, folder, storm, port=port)
        finally:
            storm.stage.stop()
            from django.db import connection

            connection.close()
            configured_server().stop()
            if not asked.keep:
                worlds.unmount(disks)
    tell(report.format())
    tell(f"chaos: {report.verdict}, {time.monotonic() - begun:.0f} s in all")
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
