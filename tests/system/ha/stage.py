"""Kilit's processes and their clients: two application machines, each with its own way to the leader."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

from kilit.workers.processes import PARENT
from tests.system.chaos.stage import GUNICORN, MANAGE, ROOT, Stage

WORKERS, RUNNER = [*MANAGE, "runworkers"], [*MANAGE, "orchestrator_tick", "--watch"]
# The number of a service's machine is the last thing in its name; the third set of workers is on the first machine.
SERVICES = {
    "web-1": GUNICORN,
    "web-2": GUNICORN,
    "workers-1": WORKERS,
    "workers-2": WORKERS,
    "workers-3": WORKERS,
    "runner-1": RUNNER,
    "runner-2": RUNNER,
    "machines": [sys.executable, "-m", "simulators.optiplanning", "--opti-delay", "1", "--saw-delay", "0"],
}
CLIENT = [sys.executable, "-m", "tests.system.ha.clients"]
CLIENTS = {
    "writers": [*CLIENT, "writers"],
    "producer-1": [*CLIENT, "producer"],
    "producer-2": [*CLIENT, "producer"],
    "script-1": [*CLIENT, "script"],
    "script-2": [*CLIENT, "script"],
    "operator-1": [sys.executable, "-m", "tests.system.chaos.people", "operator"],
    "sweeper-2": [sys.executable, "-m", "tests.system.chaos.people", "sweeper"],
}


@dataclass
class Machines(Stage):
    """The stage of a chaos run, with an environment for each application machine."""

    by_machine: list[dict[str, str]] = field(default_factory=list)

    def start(self, *names: str) -> None:
        """Start services or clients by name."""
        for name in names:
            last = name.rpartition("-")[2]
            machine = self.by_machine[(int(last) - 1) % len(self.by_machine) if last.isdecimal() else 0]
            environment = {**self.environment, **machine, PARENT: str(os.getpid()), "CHAOS_NAME": name}
            with (self.logs / f"{name}.log").open("ab") as log:
                self.running[name] = subprocess.Popen(
                    SERVICES.get(name) or CLIENTS[name],
                    cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
