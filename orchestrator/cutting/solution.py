"""Writes a plan as a solution file like OptiPlanning's, so that all that follows reads both alike."""

from collections.abc import Iterator
from decimal import Decimal
from xml.sax.saxutils import quoteattr

from orchestrator.cutting.orders import TENTHS
from orchestrator.cutting.problem import Board, CuttingOrder, CuttingProblem, Drop, OrderPlan, Placed, Plate
from orchestrator.cutting.sequence import sequence_of
from orchestrator.optiplanning.solution import CutPattern, Rectangle
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Cutting

TENTHS2_PER_M2 = (1_000 * TENTHS) ** 2


def write_solution(order: CuttingOrder, plan: OrderPlan, rules: Cutting) -> bytes:
    boards = [
        (problem, board)
        for problem, solved in zip(order.problems, plan.problems, strict=True)
        for board in solved.boards
    ]
    cuts = sum(board.copies * _cuts(problem, board) for problem, board in boards)
    number = plan.boards
    seconds = number * rules.seconds_per_board + cuts * rules.seconds_per_cut
    drops = [(board.copies, drop) for _, board in boards for drop in board.drops]
    figures = {
        "best": 1,
        "algo": " + ".join(sorted({solved.solver for solved in plan.problems})),
        "mqBoards": _square_metres(board.copies * _area(problem.plates[board.plate]) for problem, board in boards),
        "patterns": len(boards),
        "zcuts": cuts,
        "jobTime": plain(seconds),
        "mqDrops": _square_metres(copies * _area(drop) for copies, drop in drops),
        "diffDrops": len({(drop.length, drop.width) for _, drop in drops}),
    }
    patterns = "\n".join(_pattern(problem, board) for problem, board in boards)
    xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<Solutions>\n  <Solution {_attributes(**figures)}>\n{patterns}\n'
    return f"{xml}  </Solution>\n</Solutions>\n".encode()


def pattern_of(problem: CuttingProblem, board: Board) -> CutPattern:
    """Return a board as it is read back: millimetres, from the corner with the trims."""
    plate = problem.plates[board.plate]
    return CutPattern(
        plate.length / TENTHS,
        plate.width / TENTHS,
        board.copies,
        problem.material_code,
        problem.color,
        plain(problem.thickness),
        [_rectangle(part, problem.pieces[part.piece].name) for part in board.parts],
        [_rectangle(drop) for drop in board.drops],
    )


def _rectangle(placed: Placed | Drop, name: str = "") -> Rectangle:
    return Rectangle(placed.x / TENTHS, placed.y / TENTHS, placed.length / TENTHS, placed.width / TENTHS, name)


def _cuts(problem: CuttingProblem, board: Board) -> int:
    sequence = sequence_of(pattern_of(problem, board))
    return len(sequence.cuts) if sequence else 0


def _pattern(problem: CuttingProblem, board: Board) -> str:
    pattern = pattern_of(problem, board)
    texts = {name: getattr(pattern, name) for name in ("boards", "material", "color", "thickness")}
    head = _attributes(**texts, length=_size(pattern.length), width=_size(pattern.width))
    parts = [f"      <Part {_attributes(name=part.name, **_sizes(part))}/>" for part in pattern.parts]
    drops = [f"      <Drop {_attributes(**_sizes(drop))}/>" for drop in pattern.drops]
    return "\n".join([f"    <Pattern {head}>", *parts, *drops, "    </Pattern>"])


def _sizes(rectangle: Rectangle) -> dict[str, str]:
    return {name: _size(getattr(rectangle, name)) for name in ("x", "y", "length", "width")}


def _size(millimetres: float) -> str:
    return f"{millimetres:.1f}".removesuffix(".0")


def _attributes(**values: object) -> str:
    return " ".join(f"{name}={quoteattr(str(value))}" for name, value in values.items())


def _area(sides: Plate | Drop) -> int:
    return sides.length * sides.width


def _square_metres(areas: Iterator[int]) -> str:
    return plain(Decimal(sum(areas)) / TENTHS2_PER_M2)
