"""Proves that a plan can be cut. It knows the order and where the parts lie, and nothing of the solver.

Parts can be cut by a panel saw if cuts from edge to edge, each as wide as the kerf, separate them, in no more stages
than allowed; a stage is a set of parallel cuts through a piece. After the last stage one cut may trim each part.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from orchestrator.cutting.problem import (
    Board,
    CuttingOrder,
    CuttingProblem,
    Drop,
    OrderPlan,
    Placed,
    Plate,
    ProblemPlan,
)

MOST_FAULTS = 20
Rectangle = Placed | Drop


def faults(order: CuttingOrder, plan: OrderPlan) -> list[str]:
    """Return what is wrong with a plan; a plan without faults can be cut, and is complete."""
    if len(order.problems) != len(plan.problems):
        return ["The plan is of another order."]
    return [
        fault
        for problem, solved in zip(order.problems, plan.problems, strict=True)
        for fault in _faults(problem, solved)
    ][:MOST_FAULTS]


def _faults(problem: CuttingProblem, plan: ProblemPlan) -> Iterator[str]:
    pieces: Counter[int] = Counter()
    plates: Counter[int] = Counter()
    for number, board in enumerate(plan.boards, start=1):
        if not 0 <= board.plate < len(problem.plates) or board.copies < 1:
            yield f"Board {number}: there is no such plate."
            continue
        plates[board.plate] += board.copies
        for part in board.parts:
            pieces[part.piece] += board.copies
        yield from (f"Board {number}: {fault}" for fault in _board_faults(problem, board))
    for index, plate in enumerate(problem.plates):
        if plate.number is not None and plates[index] > plate.number:
            yield f"{plates[index]} plates {plate.name} are used, of {plate.number}."
    for index, piece in enumerate(problem.pieces):
        if pieces[index] != piece.quantity:
            yield f"{pieces[index]} pieces of {piece.name}, not {piece.quantity}."


def _board_faults(problem: CuttingProblem, board: Board) -> Iterator[str]:
    plate = problem.plates[board.plate]
    for part in board.parts:
        if not 0 <= part.piece < len(problem.pieces):
            yield "A part is not of the order."
            return
        piece = problem.pieces[part.piece]
        sides = part.length, part.width
        if sides != (piece.length, piece.width):
            if sides != (piece.width, piece.length):
                yield f"{piece.name} has another size."
            elif not piece.can_turn:
                yield f"{piece.name} is turned against its grain."
    rectangles: tuple[Rectangle, ...] = (*board.parts, *board.drops)
    for rectangle in rectangles:
        if not _is_inside(rectangle, plate):
            yield f"{_name(problem, rectangle)} is not inside the plate less its trims."
    yield from _cut_faults(problem, board)


def _cut_faults(problem: CuttingProblem, board: Board) -> Iterator[str]:
    needed = stages(board.parts, problem.kerf)
    if needed is None:
        yield _nearest(problem, board.parts) or "Cuts from edge to edge cannot separate the parts."
    elif needed > problem.stages:
        yield f"It takes {needed} stages of cuts, not {problem.stages}."
    elif stages((*board.parts, *board.drops), 0) is None:
        yield "An offcut overlaps something."


def _is_inside(rectangle: Rectangle, plate: Plate) -> bool:
    trim = plate.trim
    return (
        rectangle.x >= trim.left
        and rectangle.y >= trim.bottom
        and rectangle.x + rectangle.length <= plate.length - trim.right
        and rectangle.y + rectangle.width <= plate.width - trim.top
        and min(rectangle.length, rectangle.width) > 0
    )


def _nearest(problem: CuttingProblem, parts: tuple[Placed, ...]) -> str:
    """Return which parts overlap or are too near, or nothing."""
    for one, other in combinations(parts, 2):
        along = max(one.x, other.x) - min(one.x + one.length, other.x + other.length)
        across = max(one.y, other.y) - min(one.y + one.width, other.y + other.width)
        if max(along, across) < problem.kerf:
            names = f"{_name(problem, one)} and {_name(problem, other)}"
            return f"{names} overlap." if max(along, across) < 0 else f"{names} are nearer than the kerf."
    return ""


def _name(problem: CuttingProblem, rectangle: Rectangle) -> str:
    return problem.pieces[rectangle.piece].name if isinstance(rectangle, Placed) else "An offcut"


def stages(rectangles: tuple[Rectangle, ...], kerf: int) -> int | None:
    """Return how many stages of cuts separate rectangles, or None if no cuts from edge to edge do."""
    counts = [count for is_along in (True, False) if (count := _stages(rectangles, kerf, is_along)) is not None]
    return min(counts, default=None)


def _stages(rectangles: tuple[Rectangle, ...], kerf: int, is_along: bool) -> int | None:
    if len(rectangles) < 2:
        return 0
    groups = separate(rectangles, kerf, is_along=is_along)
    if len(groups) == 1:
        return None
    # As many cuts as possible at once never need more stages. What they leave is cut in the other direction.
    counts = [_stages(group, kerf, not is_along) for group in groups]
    return None if None in counts else 1 + max(count for count in counts if count is not None)


def separate(rectangles: tuple[Rectangle, ...], kerf: int, *, is_along: bool) -> list[tuple[Rectangle, ...]]:
    """Return what all cuts in one direction make of rectangles: cuts across x if `is_along`, across y if not."""
    spans = sorted(
        ((one.x, one.x + one.length, one) if is_along else (one.y, one.y + one.width, one) for one in rectangles),
        key=lambda span: span[:2],
    )
    groups: list[list[Rectangle]] = []
    reach = None
    for begin, end, rectangle in spans:
        if reach is None or begin >= reach + kerf:
            groups.append([])
        groups[-1].append(rectangle)
        reach = end if reach is None else max(reach, end)
    return [tuple(group) for group in groups]
