"""After the storm: how soon work goes on after a death, compared with how fast this machine is just then."""

import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import psutil
from django.db import Error, connection

from kilit.workers.models import Heartbeat
from tests.system.chaos.questions import rows
from tests.system.chaos.report import Finding
from tests.system.chaos.stage import CLIENTS, MANAGE, ROOT, Stage, answers
from tests.system.chaos.strikes import crash_postgres
from tests.system.chaos.telling import tell

LIMIT = 60.0  # seconds, on a machine as fast as the reference
REFERENCE = 3.2  # seconds of CPU that `manage.py check` needs; an idle machine takes about as long
GIVE_UP = 10  # times the limit
WORKERS = ("worker-1", "worker-2")


@dataclass
class Recovery:
    """One death, and how long it took until everything worked again."""

    victim: str
    seconds: float
    slowness: float  # 1 for the reference, 2 for a machine half as fast

    @property
    def is_late(self) -> bool:
        return self.seconds > LIMIT * self.slowness

    def __str__(self) -> str:
        return f"{self.victim}: {self.seconds:.0f} s, on a machine {self.slowness:.1f} times slower than the reference"


def measure(stage: Stage, port: int) -> list[Recovery]:
    """Kill one thing after the other, and wait until the web server is ready and both clusters passed a task."""
    deaths: dict[str, Callable[[], None]] = {
        # Not the supervisors, which have to notice it.
        "the workers' clusters": lambda: kill(process for name in WORKERS for process in stage.members(name)[1:]),
        "the web server": lambda: kill(stage.members("web")),
        "PostgreSQL": crash_postgres,
    }
    recoveries = []
    stage.kill(*[name for name in CLIENTS if name in stage.running])  # who would only keep the machine busy
    connection.close()  # the storm may have struck it
    for victim, strike in deaths.items():
        before = start_seconds(stage)
        ((killed_at,),) = rows("SELECT clock_timestamp()")
        begun = time.monotonic()
        strike()
        while not has_recovered(port, since=killed_at) and time.monotonic() < begun + GIVE_UP * LIMIT:
            stage.tend()
            time.sleep(0.2)
        seconds = time.monotonic() - begun
        slowness = max(1.0, before / REFERENCE, start_seconds(stage) / REFERENCE)
        recoveries.append(Recovery(victim, seconds, slowness))
        tell(f"recovery: {recoveries[-1]}")
    return recoveries


def finding(recoveries: list[Recovery]) -> Finding:
    about = f"work goes on within {LIMIT:.0f} s of a death, or as much later as the machine is slower"
    return Finding("recovery", about, [str(recovery) for recovery in recoveries if recovery.is_late])


def kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def has_recovered(port: int, *, since: datetime) -> bool:
    try:
        beating = Heartbeat.objects.filter(beat_at__gt=since).count()
    except Error:
        connection.close()
        return False
    return beating >= len(WORKERS) and answers(f"http://127.0.0.1:{port}/readyz")


def start_seconds(stage: Stage) -> float:
    begun = time.monotonic()
    subprocess.run([*MANAGE, "check"], cwd=ROOT, env=stage.environment, capture_output=True, check=True)
    return time.monotonic() - begun
