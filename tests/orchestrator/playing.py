"""The floor in motion: the runner's ticks, OptiPlanning as a program, and the saw, all in real folders."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from orchestrator.folders import Folders
from orchestrator.management.commands.optiplanning_simulator import Player
from orchestrator.models import Job
from orchestrator.optiplanning import playing
from orchestrator.runner import tick

PATIENCE = 30  # seconds


def command(folders: Folders, *arguments: str) -> str:
    """Return the command of mode A that plays OptiPlanning."""
    return json.dumps([sys.executable, str(Path(playing.__file__)), "--export", str(folders.export), *arguments])


def player(folders: Folders, **options: Any) -> Player:
    """Return OptiPlanning's and the saw's player, who answer at once."""
    asked = {"only": None, "opti_delay": 0, "opti_fault": None, "saw_delay": 0, "saw_fault": None, "late": 600}
    return Player(folders, asked | options, tell=lambda _: None)


def work_until(job: Job, *states: str, machines: Player | None = None, seconds: float = PATIENCE) -> Job:
    """Tick, and let the machines play, until the job is in one of the states."""
    end = time.monotonic() + seconds
    while True:
        job.refresh_from_db()
        if job.status in states:
            return job
        assert time.monotonic() < end, f"{job.status} {job.error_code} {job.error_message}"
        tick(patient=True)
        if machines:
            machines.look()
