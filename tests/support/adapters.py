"""Calls OptiPlanning's adapters."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.errors import JobError
from orchestrator.optiplanning.adapters import run_optiplanning
from tests.support.waiting import PATIENCE

A_WHILE = timedelta(seconds=PATIENCE)
PLATE = {"width_mm": "1830", "height_mm": "3660.5"}


def nothing() -> None:
    """Hold a lease that is never lost."""


def run(mode: str = "A", files: Any = (), keep_alive: Any = nothing, time_limit: timedelta = A_WHILE) -> None:
    run_optiplanning(mode, files, plate=PLATE, keep_alive=keep_alive, time_limit=time_limit)


def fault_of(mode: str = "A", **options: Any) -> JobError:
    with pytest.raises(JobError) as fault:
        run(mode, **options)
    return fault.value
