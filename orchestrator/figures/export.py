"""The bookkeeper's file: a line for each finished job, with its figures and amounts."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from operator import attrgetter

from kilit.csv.writer import csv_lines
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.schemas.figures import JobFigures

CHUNK = 100  # figures of an order with thousands of materials are large
JOB = {
    "finishedAt": "finished_at",
    "orderId": "order_id",
    "revision": "revision",
    "jobId": "pk",
    "customer": "customer_name",
}
FIGURES: dict[str, Callable[[JobFigures], object]] = {
    "pieces": attrgetter("pieces"),
    "partsM2": attrgetter("parts_m2"),
    "boardsM2": attrgetter("boards_m2"),
    "offcutsM2": attrgetter("drops_m2"),
    "yieldPercent": attrgetter("yield_percent"),
    "edgeMetres": lambda figures: sum((edge.metres for edge in figures.edges), Decimal(0)),
    "edges": lambda figures: ", ".join(f"{edge.edge}: {edge.metres} m" for edge in figures.edges),
    "cuts": attrgetter("cuts"),
    "machineMinutes": attrgetter("machine_minutes"),
}
AMOUNTS: dict[str, Callable[[JobFigures], object]] = {
    "currency": attrgetter("amounts.currency"),
    "net": attrgetter("amounts.net"),
    "vatPercent": attrgetter("amounts.vat_percent"),
    "vat": attrgetter("amounts.vat"),
    "gross": attrgetter("amounts.gross"),
    "prices": lambda figures: "fixed" if figures.is_fixed else "today",
    "missing": lambda figures: (
        " ".join(amount.message for amount in figures.amounts.missing) if figures.amounts else ""
    ),
}


def export_lines(jobs: JobQuerySet, *, decimal_comma: bool = False) -> Iterator[str]:
    """Return the file line by line; with a decimal comma, cells are separated by semicolons, as Excel expects then."""
    rows = jobs.select_related("customer").only(
        *("order_id", "revision", "customer__name", "customer_snapshot_name", "finished_at"),
        *("figures", "solution", "xml_sha256"),
    )
    cells = (_cells(job, decimal_comma=decimal_comma) for job in rows.iterator(chunk_size=CHUNK))
    return csv_lines((*JOB, *FIGURES, *AMOUNTS), cells, delimiter=";" if decimal_comma else ",")


def _cells(job: Job, *, decimal_comma: bool) -> list[object]:
    figures = figures_of(job)  # reads the order only if no figures were stored
    cells: list[object] = [
        *(getattr(job, name) for name in JOB.values()),
        *(read(figures) if figures else "" for read in FIGURES.values()),
        *(read(figures) if figures and figures.amounts else "" for read in AMOUNTS.values()),
    ]
    if not decimal_comma:
        return cells
    return [str(cell).replace(".", ",") if isinstance(cell, Decimal) else cell for cell in cells]
