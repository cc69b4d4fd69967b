"""The audit of stored jobs in mode D: their plans are of their orders, and their amounts add up."""

import time
from collections.abc import Iterator
from decimal import Decimal

from orchestrator import sentences
from orchestrator.cutting.plan_law import differences
from orchestrator.figures.amounts_law import faults
from orchestrator.figures.job_figures import STORED, boards_charged
from orchestrator.models import Job
from orchestrator.optiplanning.solution import MOST_PATTERNS, whole_plan_of
from orchestrator.orders.order import order_from
from orchestrator.states import JobState, Mode

SECONDS = 5.0


def differing_jobs() -> Iterator[str]:
    """Yield the first fault of each job, the newest jobs first, as many as can be read in an audit's time."""
    deadline = time.monotonic() + SECONDS
    jobs = Job.objects.filter(opti_mode=Mode.D, xml_sha256__gt="").order_by("-id")
    for job in jobs.iterator(chunk_size=20):
        if time.monotonic() > deadline:
            return
        if fault := next(_faults(job), ""):
            yield sentences.JOB_DIFFERS % {"job": job.order_id, "fault": fault}


def _faults(job: Job) -> Iterator[str]:
    for file in job.solution_files.values_list("pk", "sha256"):
        plan = whole_plan_of(*file)
        # Plans that were stored before boards had a thickness cannot be held against their orders.
        if plan and not plan.is_cut_short and all(pattern.thickness for pattern in plan.patterns):
            yield from differences(order_from(job.payload), plan)
            if sum(pattern.boards for pattern in plan.patterns) != (job.planning or {}).get("boards"):
                yield sentences.PLAN_HAS_AREA
    boards = (job.planning or {}).get("boards") or 1
    # Earlier versions counted one board if a plan was too large to be drawn; what is DONE stays so.
    counts = {boards, 1} if boards > MOST_PATTERNS else {boards}
    if job.by_hand and job.status == JobState.DONE and not job.is_cut_in_part and job.boards_cut not in counts:
        yield sentences.PLAN_HAS_AREA
    figures = STORED.validate_python(job.figures) if job.figures else None
    if figures and figures.amounts:
        areas = boards_charged(job.solution or {})
        if job.is_cut_in_part:
            areas = {name: str(Decimal(area) * job.boards_cut / boards) for name, area in areas.items()}
        wrong = faults(figures, figures.amounts, areas)
        yield from (sentences.AMOUNTS_DIFFER % {"what": fault} for fault in wrong)
