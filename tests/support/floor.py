"""The floor of a test with everything that plays on it."""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management import call_command

from orchestrator.files.folders import Folders
from orchestrator.optiplanning.collecting import Wanted, file_clock
from orchestrator.orders.order import read_order
from orchestrator.planning.excel import write_files
from orchestrator.planning.rules import current_rules
from orchestrator.planning.transform import transform
from orchestrator.saw.delivery import deliver, delivery_name
from simulators.optiplanning.command import Command
from tests.orchestrator.conftest import ARKALIK, GOVDE, order_body
from tests.orchestrator.floor.conftest import age, collect_twice
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
        return [self.folders.imports / sheet.name for sheet in write_files(self.job, plan, self.folders)]

    def simulate(self, **options: Any) -> str:
        told = StringIO()
        call_command(Command(), **{"once": True, "opti_delay": 0, "saw_delay": 0, **options}, stdout=told)
        return told.getvalue()

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
        deliver(source, name, self.folders)
        return name
