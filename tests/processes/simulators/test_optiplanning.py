"""The simulator as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.optiplanning.adapters import run_optiplanning
from orchestrator.saw.delivery import acknowledged, deliver, delivery_name
from simulators.optiplanning import play
from tests.support.adapters import PLATE
from tests.support.commands import ROOT, fresh_environment
from tests.support.floor import A_WHILE, Floor
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import database_url


@pytest.fixture
def program(settings: Any, floor: Folders) -> Callable[..., None]:
    """Use the simulator as the command of mode A."""

    def use(*arguments: str) -> None:
        settings.OPTI_COMMAND = json.dumps([sys.executable, play.__file__, "--export", str(floor.export), *arguments])

    return use


def test_as_the_command_of_mode_a_it_is_a_real_process(here: Floor, program: Any) -> None:
    program("--delay", "0.5")

    run_optiplanning("A", here.write(), plate=PLATE, keep_alive=lambda: None, time_limit=A_WHILE)

    here.rest()
    assert here.collect().solution["algo"] == "BEST"


def test_as_the_command_of_mode_a_it_crashes_on_request(here: Floor, program: Any) -> None:
    program("--fault", "crash")

    with pytest.raises(JobError) as fault:
        run_optiplanning("A", here.write(), plate=PLATE, keep_alive=lambda: None, time_limit=A_WHILE)

    assert fault.value.code == Code.OPTI_RUNNER_FAILED
    assert fault.value.message == "OptiPlanning failed, exit code 1: OptiPlanning: out of licence"


def test_as_the_command_of_mode_a_it_hangs_on_request_and_is_killed(here: Floor, program: Any) -> None:
    program()

    with pytest.raises(JobError) as fault:
        run_optiplanning(
            "A", here.write(wish="sim:hang"), plate=PLATE, keep_alive=lambda: None, time_limit=timedelta(seconds=2)
        )

    assert fault.value.code == Code.OPTI_XML_TIMEOUT
    assert list(here.folders.export.iterdir()) == []


@pytest.mark.nightly  # by day, it plays in tests/processes/config/local/test_up.py
@pytest.mark.django_db(transaction=True)
def test_it_plays_until_it_is_stopped(here: Floor, tmp_path: Path) -> None:
    environment = fresh_environment(
        KILIT_VAR=str(here.folders.imports.parent.parent),
        DATABASE_URL=database_url(),
        SECRET_KEY="simulator",
        DJANGO_SETTINGS_MODULE="config.settings.server",
        PYTHONUNBUFFERED="1",
    )
    log = tmp_path / "log"
    command = [sys.executable, "-m", "simulators.optiplanning", "--opti-delay", "0", "--saw-delay", "0"]
    with log.open("wb") as output:
        simulator = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output)
    try:
        here.write()
        solution = here.folders.export / f"{here.job}_solution.xml"
        wait_until(lambda: solution.exists() and solution.stat().st_size > 0)
        wait_until(lambda: here.collect() is not None)
        name = delivery_name(here.job, 1, solution)
        deliver(solution.read_bytes(), name, here.folders)
        wait_until(lambda: acknowledged(name, here.folders) is True)
        wait_until(lambda: log.read_text().count("\n") == 2)  # it moves the file first, then logs it
    finally:
        os.kill(simulator.pid, signal.SIGINT)
        simulator.wait(timeout=PATIENCE)

    assert simulator.returncode == 0
    assert log.read_text() == f"OptiPlanning wrote {solution.name}.\nThe saw took {name}.\n"
