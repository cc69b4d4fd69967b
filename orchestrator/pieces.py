"""The pieces of a job and what was done to each: cut, edged, drilled, packed."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from orchestrator.models import Job, PieceStep
from orchestrator.models.piece_step import WorkStep
from orchestrator.orders.order import order_from, part_from
from orchestrator.planning.plan import banded_sides
from orchestrator.schemas.orders import MOST_PARTS, Part
from orchestrator.schemas.rules import Rules

MOST_ROWS = 100  # of one piece: more are no work, but somebody who plays with the buttons


@dataclass(frozen=True)
class LabelledPiece:
    job_id: UUID
    part: Part
    part_number: int  # which of the order's parts, from 1 on
    number: int  # which of the part's pieces, from 1 on

    def rows(self) -> QuerySet[PieceStep]:
        """Return all that happened to it, also what was taken back."""
        return PieceStep.objects.filter(job_id=self.job_id, part=self.part_number, piece=self.number).order_by("pk")

    def record(self, step: WorkStep) -> None:
        """Record a step once, however often it is sent; a job without a plan takes none, and the database knows it."""
        if self.rows().count() >= MOST_ROWS:
            return
        row = PieceStep(job_id=self.job_id, part=self.part_number, piece=self.number, step=step)
        try:
            with transaction.atomic():
                PieceStep.objects.bulk_create([row], ignore_conflicts=True)
        except IntegrityError as refused:
            if getattr(refused.__cause__, "sqlstate", "") != "23514":  # the check of the trigger
                raise

    def take_back(self, row_id: int) -> None:
        """Take back this step, not one that was recorded again since the page was shown."""
        self.rows().filter(pk=row_id, taken_back_at=None).update(taken_back_at=Now())


def find_piece(job: Job, part_number: int, number: int) -> LabelledPiece | None:
    if not 1 <= part_number <= MOST_PARTS:
        return None
    stored = Job.objects.filter(pk=job.pk).values_list(f"payload__parts__{part_number - 1}", flat=True).first()
    part = part_from(stored) if stored else None
    return LabelledPiece(job.pk, part, part_number, number) if part and 1 <= number <= part.quantity else None


def steps_of(part: Part, rules: Rules) -> list[WorkStep]:
    """Return the steps that a piece of this part needs, in their order."""
    needed = {WorkStep.EDGED: bool(banded_sides(part, rules)), WorkStep.DRILLED: bool(part.drill_code)}
    return [step for step in WorkStep if needed.get(step, True)]


@dataclass(frozen=True)
class StepProgress:
    step: WorkStep
    total: int
    missing: list[tuple[str, set[int], int]]  # of each part that lacks some: its id, the pieces done, of how many

    @property
    def missing_count(self) -> int:
        return sum(quantity - len(done) for _part, done, quantity in self.missing)

    @property
    def done(self) -> int:
        return self.total - self.missing_count


def progress(job: Job, rules: Rules) -> Iterator[StepProgress]:
    """Yield how far each step of a job is, and which pieces it lacks."""
    done: dict[tuple[str, int], set[int]] = defaultdict(set)
    rows = job.piece_steps.filter(taken_back_at=None).values_list("step", "part")
    for step, part_number, numbers in rows.annotate(numbers=ArrayAgg("piece")):
        done[step, part_number] = set(numbers)
    parts = [(number, part, steps_of(part, rules)) for number, part in enumerate(order_from(job.payload).parts, 1)]
    for step in WorkStep:
        needed = [(number, part) for number, part, steps in parts if step in steps]
        parts_done = [(part.id, done[step, number], part.quantity) for number, part in needed]
        if needed:
            total = sum(part.quantity for _number, part in needed)
            missing = [(part, pieces, quantity) for part, pieces, quantity in parts_done if len(pieces) < quantity]
            yield StepProgress(step, total, missing)
