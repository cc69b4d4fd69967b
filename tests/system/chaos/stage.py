"""The stage: every process of a run, started as leader of a group of its own, and started again when it ends."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from kilit.workers.processes import PARENT, kill_group
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
MANAGE = [sys.executable, "manage.py"]
GUNICORN = [sys.executable, "-m", "gunicorn", "config.web.wsgi", "--config", "config/web/gunicorn.py"]
# What a supervisor of the machine would run and start again.
SERVICES = {
    "web": GUNICORN,
    "worker-1": [*MANAGE, "runworkers"],
    "worker-2": [*MANAGE, "runworkers"],
    "runner-1": [*MANAGE, "orchestrator_tick", "--watch"],
    "runner-2": [*MANAGE, "orchestrator_tick", "--watch"],
    # The saw, and whoever starts OptiPlanning by hand for orders of mode C.
    "machines": [sys.executable, "-m", "simulators.optiplanning", "--opti-delay", "3", "--saw-delay", "0"],
}
# Who uses them.
CLIENTS = {
    "producer": [sys.executable, "-m", "tests.system.chaos.clients", "producer"],
    "script-1": [sys.executable, "-m", "tests.system.chaos.clients", "script"],
    "script-2": [sys.executable, "-m", "tests.system.chaos.clients", "script"],
    "operator": [sys.executable, "-m", "tests.system.chaos.people", "operator"],
    "sweeper": [sys.executable, "-m", "tests.system.chaos.people", "sweeper"],
}


@dataclass
class Stage:
    """The processes of one run; nothing else is ever touched."""

    environment: dict[str, str]
    logs: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    restarts: int = 0

    def start(self, *names: str) -> None:
        """Start services or clients by name."""
        for name in names:
            command = SERVICES.get(name) or CLIENTS[name]
            log = self.logs / f"{name}.log"
            # Each watches this process and ends with it, even when it is killed.
            environment = {**self.environment, PARENT: str(os.getpid()), "CHAOS_NAME": name}
            with log.open("ab") as file:
                self.running[name] = subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
                )

    def tend(self) -> None:
        """Start again what has ended, after making sure that nothing of it runs."""
        for name, process in list(self.running.items()):
            if process.poll() is not None:
                kill_group(process.pid)
                self.restarts += 1
                self.start(name)

    def kill(self, *names: str) -> None:
        """End whole groups at once, as a power cut does."""
        for name in names:
            process = self.running.pop(name)
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
            kill_group(process.pid)
            process.wait(timeout=PATIENCE)

    def stop(self) -> None:
        """End everything."""
        for process in self.running.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
        self.kill(*self.running)

    def members(self, name: str) -> list[psutil.Process]:
        """Return a service's processes, its leader first, in an order that a seed can count on."""
        try:
            leader = psutil.Process(self.running[name].pid)
            below = sorted(leader.children(recursive=True), key=lambda process: (process.name(), process.pid))
        except (KeyError, psutil.NoSuchProcess):
            return []
        return [leader, *below]

    def wait_for(self, address: str) -> None:
        """Wait until an address answers with success."""
        end = time.monotonic() + PATIENCE
        while not answers(address):
            self.tend()
            if time.monotonic() > end:
                raise TimeoutError(f"{address} did not answer within {PATIENCE} s; its log is in {self.logs}")
            time.sleep(0.3)


def answers(address: str) -> bool:
    """Tell whether an address on loopback answers with success."""
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
