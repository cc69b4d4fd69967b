"""The floor of a test with everything that plays on it."""

import os
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.optiplanning import collecting
from orchestrator.optiplanning.collecting import Collected, Wanted, file_clock
from orchestrator.orders.order import read_order
from orchestrator.planning.excel.writing import write_files
from orchestrator.planning.plan import transform
from orchestrator.planning.rules import current_rules
from orchestrator.saw.delivery import deliver, delivery_name
from simulators.optiplanning.command import Command
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body
from tests.support.waiting import PATIENCE

A_WHILE = timedelta(seconds=PATIENCE)


class Floor:
    """A floor, and one job on its way through it."""

    def __init__(self, folders: Folders) -> None:
        self.folders, self.job = folders, uuid4()
        self.begun_at = file_clock(folders.export)

    def write(self, wish: str = "") -> list[Path]:
        parts = [{**GOVDE, "desc1": wish or "Yan panel"}, ARKALIK]
        plan = transform(read_order(order_body(parts=parts), default_mode="C"), current_rules())
        return [self.folders.imports / sheet["name"] for sheet in write_files(self.job, plan, self.folders)]

    def simulate(self, **options: Any) -> str:
        output = StringIO()
        call_command(Command(), **{"once": True, "opti_delay": 0, "saw_delay": 0, **options}, stdout=output)
        return output.getvalue()

    def collect(self, *sheets: str) -> Any:
        return collect_twice(Wanted(self.job, self.begun_at, sheets, each=bool(sheets)), self.folders)

    def rest(self, seconds: float = 5) -> None:
        """Let time pass for what is in the folders, by calling the attempt and the files older."""
        for folder in (self.folders.imports, self.folders.export, self.folders.inbox):
            for path in folder.glob("*.x*"):
                age(path, seconds)
        self.begun_at -= timedelta(seconds=seconds)

    def deliver(self) -> str:
        self.rest()
        (source,) = self.collect().paths
        name = delivery_name(self.job, 1, source)
        deliver(source.read_bytes(), name, self.folders)
        return name


JOB = UUID("11111111-2222-3333-4444-555555555555")


BEFORE = datetime(2026, 1, 1, tzinfo=UTC)


XML = """<?xml version="1.0" encoding="{encoding}"?>
<OptiPlanning>
  <Solution name="one" algo="SPEED" best="0" mqBoards="23.52" patterns="9" zcuts="90" jobTime="900" mqDrops="9"/>
  <Solution name="iki" algo="BEST" best="1" mqBoards="17,64" patterns="7" cycles="8" zcuts="81" jobTime="754.5"
            jobCost="4233.60" mqDrops="3.05" diffDrops="4"/>
</OptiPlanning>
"""


GOOD = XML.format(encoding="UTF-8").encode()


def age(path: Path, seconds: float = 10) -> Path:
    """Make a file look as if it had not been touched for a while."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))
    return path


def time_passes(seconds: float) -> None:
    """Let time pass since this process looked."""
    seen = collecting.files_seen.seen
    seen.update({path: (known, since - seconds) for path, (known, since) in seen.items()})


def collect_twice(wanted: Wanted, folders: Folders) -> Collected | None:
    """Look, and again a minute later: at the first look nothing is said about a file."""
    collecting.collect(wanted, folders)
    time_passes(60)
    return collecting.collect(wanted, folders)


def reason(look: Any) -> str:
    with pytest.raises(JobError) as fault:
        look()
    assert fault.value.code == Code.XML_INVALID
    return fault.value.message
