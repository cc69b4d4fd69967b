"""The floor in motion: the runner's ticks, OptiPlanning as a program, and the saw, all in real folders."""

import json
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models.functions import Now

from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.workflow.runner import tick
from simulators.optiplanning import play
from simulators.optiplanning.command import Simulator
from tests.support.commands import ROOT
from tests.support.cutting_jobs import make_job
from tests.support.kills import Point, die
from tests.support.waiting import PATIENCE


def command(folders: Folders, *arguments: str) -> str:
    """Return the command of mode A that plays OptiPlanning."""
    return json.dumps([sys.executable, str(Path(play.__file__)), "--export", str(folders.export), *arguments])


def exclusive_command(log: Path, folders: Folders, *, seconds: float) -> str:
    """Return a command of mode A that notes when it runs."""
    script = str(ROOT / "tests" / "support" / "exclusive_program.py")
    return json.dumps([sys.executable, "-S", script, str(log), str(folders.export), str(seconds)])


def player(folders: Folders, **options: Any) -> Simulator:
    """Return OptiPlanning's and the saw's player, who answer at once."""
    asked = {
        "only": None,
        "modes": None,
        "opti_delay": 0,
        "opti_fault": None,
        "saw_delay": 0,
        "saw_fault": None,
        "late": 600,
    }
    return Simulator(folders, asked | options, write=lambda _: None)


def work_until(job: Job, *states: str, machines: Simulator | None = None) -> Job:
    """Tick, and let the machines play, until the job is in one of the states."""
    end = time.monotonic() + PATIENCE
    while True:
        job.refresh_from_db()
        if job.status in states:
            return job
        assert time.monotonic() < end, f"{job.status} {job.error_code} {job.error_message}"
        tick(patient=True)
        if machines:
            machines.look()


def due_again(*jobs: Job) -> None:
    """Let the time pass that jobs wait for."""
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(next_run_at=Now())


def let_leases_lapse() -> None:
    Job.objects.exclude(lease_until=None).update(lease_until=Now() - timedelta(seconds=1))


def left_running(floor: Folders, settings: Any) -> Job:
    """Return a job whose runner was lost while OptiPlanning ran."""
    settings.OPTI_COMMAND = command(floor, "--fault", "hang")
    job = make_job()
    tick(patient=True, stopping=Job.objects.filter(status="OPTI_RUNNING").exists)
    Job.objects.filter(pk=job.pk).update(attempt_started_at=Now() - timedelta(minutes=5))
    job.refresh_from_db()
    assert (job.status, job.opti_ended_at) == ("OPTI_RUNNING", None)
    return job


def at_the_move_out_of(state: str) -> Point:
    """Die after the effects of a state's step outside the database."""

    def deadly(original: Any) -> Any:
        def move(self: Any, *args: Any, **options: Any) -> Any:
            if getattr(self, "status", None) == state or (args and getattr(args[0], "status", None) == state):
                die()
            return original(self, *args, **options)

        return move

    def change() -> None:
        Job.move = deadly(Job.move)  # type: ignore[method-assign]
        JobQuerySet.take_slot = deadly(JobQuerySet.take_slot)  # type: ignore[method-assign]

    return change
