"""Runners as real processes: two at once, killed with its program, and stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from kilit.lock.models import Event
from kilit.workers.models import Runner
from kilit.workers.processes import kill_group
from orchestrator.models import Job
from tests.support.commands import ROOT
from tests.support.cutting_jobs import make_job
from tests.support.cutting_runs import command, exclusive_command, let_leases_lapse, player, work_until
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until
from tests.support.workers import database_url

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_rest_at_once", "customer")]

# It collects solutions without waiting until they are at rest.
HASTY_RUNNER = """
import signal, threading
from datetime import timedelta
import django
django.setup()
from orchestrator.optiplanning import collecting
from orchestrator.workflow import watching
collecting.STABLE_AFTER = timedelta(0)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
watching.watch(stop)
"""
STATES = ["NEW", "PREPARED", "OPTI_IMPORTED", "OPTI_RUNNING", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]


@pytest.fixture
def run(floor, settings) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start processes that see this test's database and folders, and leave none behind."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": database_url(),
            "KILIT_FLOOR": str(floor.imports.parent),
            "KILIT_OPTI_COMMAND": settings.OPTI_COMMAND,
            "KILIT_FLOOR_POLL": "1",
            "KILIT_LOG_LEVEL": "ERROR",
        }
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        kill_group(process.pid)
        process.wait(timeout=PATIENCE)


def states_of(job: Job) -> list[str]:
    return [event.to_state for event in Event.objects.of(job) if event.from_state != event.to_state]


def test_a_killed_runner_takes_optiplanning_with_it_and_the_next_starts_it_again(
    run, floor, settings, tmp_path
) -> None:
    log = tmp_path / "opti.log"
    settings.OPTI_COMMAND = exclusive_command(log, floor, seconds=PATIENCE)
    job = make_job()
    killed = run("-c", HASTY_RUNNER)
    lock = log.with_suffix(".lock")
    wait_until(lock.exists)
    programs = programs_of(log)
    assert programs

    killed.kill()
    killed.wait()

    wait_for_the_end(*programs)
    lock.unlink()
    settings.OPTI_COMMAND = exclusive_command(log, floor, seconds=0)
    let_leases_lapse()
    work_until(job, "DONE", machines=player(floor, only="saw"))
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["began", "began", "ended"]
    assert len(list(floor.processed.iterdir())) == 1


@pytest.mark.parametrize("number", [6, pytest.param(20, marks=pytest.mark.nightly)])
def test_two_runners_and_many_jobs(run, floor, settings, tmp_path, number: int) -> None:
    """Never two at OptiPlanning, the slot taken before it starts, no job fails for waiting, each delivered once."""
    log = tmp_path / "opti.log"
    settings.OPTI_COMMAND = exclusive_command(log, floor, seconds=0.05)
    jobs = [make_job(order_id=f"S-{each}") for each in range(number)]
    machines = player(floor, only="saw")

    for _ in range(2):
        run("-c", HASTY_RUNNER)
    wait_until(lambda: machines.look() or Job.objects.filter(status="DONE").count() == len(jobs))

    lines = [line.split() for line in log.read_text().splitlines()]
    assert [word for word, _, _ in lines] == ["began", "ended"] * len(jobs)
    for _, began, pk in lines[::2]:
        started_at = Event.objects.get(object_id=pk, event_type="STATE_OPTI_RUNNING").created_at
        assert started_at <= datetime.fromtimestamp(float(began), UTC)
    assert len({pk for _, _, pk in lines}) == len(jobs)
    delivered = sorted(name for job in Job.objects.all() for name in job.delivery_names)
    assert sorted(path.name for path in floor.processed.iterdir()) == delivered
    assert len(delivered) == len(jobs)
    assert set(Job.objects.values_list("error_code", "retry_count")) == {("", 0)}
    for job in jobs:
        assert states_of(job) == STATES


@pytest.mark.nightly  # by day, two runners and their end
def test_the_command_watches_until_it_is_stopped(run, floor, settings) -> None:
    """`orchestrator_tick --watch` works what comes, and SIGTERM ends it in peace."""
    settings.OPTI_COMMAND = command(floor)
    watcher = run("manage.py", "orchestrator_tick", "--watch")
    job = make_job()
    machines = player(floor, only="saw")

    wait_until(lambda: machines.look() or Job.objects.filter(status="DONE").exists())
    wait_until(lambda: Runner.objects.alive().filter(queue="cutting_job", pid=watcher.pid).exists())
    watcher.send_signal(signal.SIGTERM)

    assert watcher.wait(timeout=PATIENCE) == 0
    assert not Runner.objects.exists()
    assert states_of(job) == STATES


def programs_of(log: Path) -> list[psutil.Process]:
    """Return the processes that play OptiPlanning with this log."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(log) in process.cmdline():
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
