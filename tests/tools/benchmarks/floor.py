"""Panel cutting: a big order becomes sheets, against openpyxl alone; and what a job costs from NEW to DONE."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from django.test import override_settings
from openpyxl import Workbook, load_workbook

from orchestrator.folders import Folders
from orchestrator.models import Customer, Job
from orchestrator.optiplanning import collecting
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order
from orchestrator.states import JobState
from orchestrator.workflow.runner import tick
from tests.tools.benchmarks.harness import Figure

PARTS = 5_000
COLOURS = ("Beyaz", "Antrasit", "Meşe", "Gümüş")
JOBS = 200
PHONE = "+905551234567"
PATIENCE = 600  # seconds
# OptiPlanning in an instant: a solution named after the job, whose id the sheets' names begin with.
INSTANT = """\
job=$(basename "$1" | cut -c1-36)
printf '<Job><Solution best="1" name="1" mqBoards="5.88" patterns="1" jobTime="60"/></Job>' > "{export}/$job.xml"
"""

orders = count(1)
cells: list[list[tuple[Any, ...]]] = []


@contextmanager
def on_floor() -> Iterator[None]:
    """Lay out the folders of a factory, and know its customer."""
    # A solution is believed at once: two seconds of rest for each of 200 orders are no work, only minutes.
    with TemporaryDirectory() as name, patch.object(collecting, "STABLE_AFTER", timedelta(0)):
        root = Path(name)
        script = root / "instant.sh"
        script.write_text(INSTANT.format(export=root / "export"))
        places = {
            "OPTI_IMPORT_FOLDER": root / "import",
            "OPTI_EXPORT_FOLDER": root / "export",
            "SAW_FOLDER": root / "saw",
            "OPTI_COMMAND": f"sh {script}",
        }
        with override_settings(**places):
            for folder in Folders.from_settings().all().values():
                folder.mkdir(parents=True)
            Customer.objects.get_or_create(phone=PHONE, defaults={"name": "Bench"})
            yield


def order(parts: int, mode: str) -> Job:
    """Store an order: of four colours, every fifth part a backing."""
    body = {
        "order_id": f"BENCH-{next(orders)}",
        "customer_phone": PHONE,
        "opti_mode": mode,
        "parts": [
            {
                "id": f"p{number}",
                "part_type": "ARKALIK" if number % 5 == 0 else "GOVDE",
                "material_code": f"MAT-{number % 9:02d}",
                "length_cm": 40 + number % 200 + 0.5,
                "width_cm": 20 + number % 60,
                "quantity": 1 + number % 12,
                "grain": number % 4,
                "color": COLOURS[number % len(COLOURS)],
                "thickness_mm": 5 if number % 5 == 0 else 18,
                **({} if number % 5 == 0 else {"edge_up": "1mm", "edge_lo": "1mm", "edge_sx": "040"}),
                "iidesc": f"Dolap {number // 10}",
                "desc1": f"Parça {number}",
            }
            for number in range(parts)
        ],
    }
    return enqueue(read_order(body, default_mode="C"))[0]


def sheets() -> float:
    """Return the seconds from NEW to OPTI_IMPORTED; mode C holds there, for the operator to start OptiPlanning."""
    job = order(PARTS, "C")
    start = time.perf_counter()
    tick(patient=True)
    took = time.perf_counter() - start
    job.refresh_from_db()
    if job.status != JobState.HOLD or not job.files or job.imported_at is None:
        raise RuntimeError(f"no sheets: {job.status} {job.error_code}")
    if not cells:  # what openpyxl alone is to write: the same, read back once
        cells.extend(written(job))
    return took


def written(job: Job) -> list[list[tuple[Any, ...]]]:
    """Return every cell of a job's sheets."""
    books = [load_workbook(Folders.from_settings().imports / sheet["name"]) for sheet in job.files]
    return [[tuple(row) for row in book.worksheets[0].iter_rows(values_only=True)] for book in books]


def openpyxl_alone() -> float:
    """Return the seconds that openpyxl takes for the same cells in as many files."""
    folder = Folders.from_settings().imports
    start = time.perf_counter()
    for number, rows in enumerate(cells):
        book = Workbook()
        sheet = book.worksheets[0]
        for row in rows:
            sheet.append(row)
        book.save(folder / f".bench-{number}.xlsx")
    return time.perf_counter() - start


def overhead() -> float:
    """Return the CPU seconds of a job from NEW to DONE: of this process alone, as OptiPlanning's are not ours."""
    jobs = [order(1, "A").pk for _ in range(JOBS)]
    before = time.process_time()
    done = Job.objects.filter(pk__in=jobs, status=JobState.DONE)
    end = time.monotonic() + PATIENCE
    while done.count() < JOBS:
        # The saw cuts between two jobs: 200 jobs that wait for it would be due again and again, in an endless tick.
        if not tick(patient=True, stopping=cut_at_once):
            time.sleep(0.1)  # until the saw is looked at again
        if time.monotonic() > end:
            raise RuntimeError(
                f"{done.count()} of {JOBS} are done: {set(Job.objects.values_list('status', flat=True))}"
            )
    return (time.process_time() - before) / JOBS


def cut_at_once() -> bool:
    """Be an instant saw, and never ask the runner to stop."""
    folders = Folders.from_settings()
    for xml in folders.inbox.glob("*.xml"):
        xml.replace(folders.processed / xml.name)
    return False


ALONE = "openpyxl writing the same cells into as many files"
FIGURES = [
    Figure("xlsx", "s", sheets, openpyxl_alone, ALONE, at_most=1.5, on=on_floor),
    Figure("orchestrator_overhead", "CPU s/job", overhead, on=on_floor, rounds=1, warm=False),
]
