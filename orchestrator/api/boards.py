"""The boards of a plan, as the API returns them."""

from orchestrator.cutting.stock import boards_to_take
from orchestrator.models import Job
from orchestrator.optiplanning.solution import CutPattern, Rectangle, part_name, plan_of
from orchestrator.orders.order import order_from
from orchestrator.schemas.jobs import PlannedBoard, PlannedPiece


def boards_of(job: Job) -> list[PlannedBoard]:
    """Return the boards of a job's solution, as many as its page draws."""
    files = job.solution_files.order_by("name").values_list("pk", "sha256") if job.xml_sha256 else []
    patterns = [pattern for file in files if (plan := plan_of(*file)) for pattern in plan.patterns]
    return list(map(present_board, boards_to_take(job, order_from(job.payload), patterns))) if patterns else []


def present_board(pattern: CutPattern) -> PlannedBoard:
    return {
        "material_code": pattern.material,
        "color": pattern.color,
        "thickness_mm": float(pattern.thickness) if pattern.thickness else None,
        "length": pattern.length,
        "width": pattern.width,
        "boards": pattern.boards,
        "from_offcuts": [{"code": code, "place": place} for code, place in pattern.taken],
        "parts": [_piece(part, part_name(part)) for part in pattern.parts],
        "offcuts": [_piece(drop, None) for drop in pattern.drops],
    }


def _piece(placed: Rectangle, part_id: str | None) -> PlannedPiece:
    place = placed.x, placed.y, placed.length, placed.width
    return {"part_id": part_id, **dict(zip(("x", "y", "length", "width"), place, strict=True))}  # type: ignore[typeddict-item]
