"""`make machines`: services on machines of their own are cut off from the database, and all clocks are off by an hour.

Exit 1 and the breaches when a row was lost or doubled, or anything else did not hold.
"""

import argparse
import os
import random
import re
import shutil
import sys
import time
from pathlib import Path

from tests.support.commands import free_port
from tests.system.chaos import world as worlds
from tests.system.chaos.run_room import add_run_options, run_in_room
from tests.system.chaos.simulated import Outside
from tests.system.chaos.telling import tell
from tests.system.machines.clocks import MISSING, find_library
from tests.system.machines.network import OWN_NETWORK, TRIED, Network, has_namespaces
from tests.system.machines.stage import NetworkStage

ON_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost):(\d+)")


def read_arguments() -> argparse.Namespace:
    """Read what is asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.machines", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="repeats the load of a run")
    parser.add_argument("--seconds", type=float, default=120.0, help="for which each is cut off")
    parser.add_argument("--loopback", action="store_true", help="no network namespaces, also where they are allowed")
    add_run_options(parser)
    return parser.parse_args()


def in_own_network(asked: argparse.Namespace) -> None:
    """Start again in namespaces of our own, where root may build a network; they end with the run's last process."""
    if OWN_NETWORK in os.environ:
        return
    os.environ[OWN_NETWORK] = "0"
    if os.geteuid() or asked.loopback or not shutil.which("unshare") or not shutil.which("ip"):
        return
    again = [sys.executable, "-m", "tests.system.machines", *sys.argv[1:]]
    # Without the rights, the network is the old one, and so are its loopback addresses.
    script = f'if {TRIED}; then {OWN_NETWORK}=1 CHAOS_OWN_MOUNTS=1 exec "$@"; else exit 125; fi'
    tried = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c"]
    if os.spawnvp(os.P_WAIT, "unshare", [*tried, TRIED]) == 0:  # noqa: S606 - a trial, gone at once
        os.execvp("unshare", [*tried, script, "sh", *again])  # noqa: S606 - the same program again


def main() -> int:
    """Run, check, tell."""
    asked = read_arguments()
    in_own_network(asked)
    return run_in_room("machines", asked, run)


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Start what is outside, build the network, and tell what was found."""
    begun, own_network = time.monotonic(), os.environ[OWN_NETWORK]
    disks = worlds.mount_disks(folder)
    with Outside.started(folder) as outside:
        port = free_port()
        environment = worlds.environment(
            folder, port=port, settings="config.settings.server", google=outside.environment
        )
        os.environ.clear()
        os.environ.update({**environment, OWN_NETWORK: own_network})
        import django

        django.setup()
        from django.db import connection

        from kilit.postgres.base import configured_server
        from tests.system.chaos.strikes import Storm
        from tests.system.machines.performance import perform

        database = configured_server().ensure_running()
        ports = {int(found) for text in outside.environment.values() for found in ON_LOOPBACK.findall(text)}
        network = Network(
            f"{database['host']}/.s.PGSQL.{database['port']}", port, sorted({*ports, outside.receiver.port})
        )
        stage = NetworkStage(environment, folder / "logs", machines=network.machines)
        storm = Storm(stage, outside, disks, folder / "floor")
        try:
            report = perform(asked, folder, storm, network)
        finally:
            network.join_all()
            stage.stop()
            connection.close()
            configured_server().stop()
            if not asked.keep:
                worlds.unmount(disks)
    machines = "network namespaces" if has_namespaces() else "loopback addresses; a relay that passes nothing cut them"
    report.notes += [f"machines were {machines}", "clocks were off by an hour" if find_library() else MISSING]
    tell(report.format())
    tell(f"machines: {report.verdict}, {time.monotonic() - begun:.0f} s in all")
    return 0 if report.is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
