"""The bookkeeper's file: a line for each finished job, with its figures and amounts."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from kilit.csv.writer import csv_lines
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.schemas.figures import Amounts, JobFigures

CHUNK = 100  # figures of an order with thousands of materials are large
COLUMNS = (
    "finishedAt",
    "orderId",
    "revision",
    "jobId",
    "customer",
    "pieces",
    "partsM2",
    "boardsM2",
    "offcutsM2",
    "yieldPercent",
    "edgeMetres",
    "edges",
    "cuts",
    "machineMinutes",
    "currency",
    "net",
    "vatPercent",
    "vat",
    "gross",
    "prices",
    "missing",
)
NONE = ("",)


def export_lines(jobs: JobQuerySet, *, decimal_comma: bool = False) -> Iterator[str]:
    """Return the file line by line; with a decimal comma, cells are separated by semicolons, as Excel expects then."""
    rows = jobs.select_related("customer").only(
        *("order_id", "revision", "customer__name", "customer_snapshot_name", "finished_at"),
        *("figures", "solution", "xml_sha256"),
    )
    cells = (_cells(job, decimal_comma=decimal_comma) for job in rows.iterator(chunk_size=CHUNK))
    return csv_lines(COLUMNS, cells, delimiter=";" if decimal_comma else ",")


def _cells(job: Job, *, decimal_comma: bool) -> list[Any]:
    figures = figures_of(job)  # reads the order only if no figures were stored
    identity = [job.finished_at, job.order_id, job.revision, job.pk, job.customer_name]
    cells = [*identity, *(_measures(figures) if figures else NONE * 9), *_amounts(figures)]
    if not decimal_comma:
        return cells
    return [str(cell).replace(".", ",") if isinstance(cell, Decimal) else cell for cell in cells]


def _measures(figures: JobFigures) -> list[object]:
    return [
        figures.pieces,
        figures.parts_m2,
        figures.boards_m2,
        figures.drops_m2,
        figures.yield_percent,
        sum((edge.metres for edge in figures.edges), Decimal(0)),
        ", ".join(f"{edge.edge}: {edge.metres} m" for edge in figures.edges),
        figures.cuts,
        figures.machine_minutes,
    ]


def _amounts(figures: JobFigures | None) -> list[object]:
    if figures is None or figures.amounts is None:
        return [*NONE * 7]
    amounts: Amounts = figures.amounts
    prices = "fixed" if figures.is_fixed else "today"
    missing = " ".join(missing_amount.message for missing_amount in amounts.missing)
    return [amounts.currency, amounts.net, amounts.vat_percent, amounts.vat, amounts.gross, prices, missing]
