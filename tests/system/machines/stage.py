"""The stage of a chaos run, with a machine for each service."""

import os
import subprocess
from dataclasses import dataclass, field

from kilit.workers.processes import PARENT
from tests.system.chaos.stage import CLIENTS, ROOT, SERVICES, Stage
from tests.system.machines.clocks import clock_of
from tests.system.machines.network import DATABASE_PORT, Machine


@dataclass
class NetworkStage(Stage):
    """Services on machines of their own; clients are on this one, with their own clocks."""

    machines: dict[str, Machine] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        """Start services or clients by name."""
        for name in names:
            command = SERVICES.get(name) or CLIENTS[name]
            environment = {**self.environment, **clock_of(name), PARENT: str(os.getpid()), "CHAOS_NAME": name}
            if machine := self.machines.get(name):
                command = machine.command(command)
                environment["DATABASE_URL"] = f"postgresql://kilit@{machine.database}:{DATABASE_PORT}/kilit"
            with (self.logs / f"{name}.log").open("ab") as log:
                self.running[name] = subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
                )
