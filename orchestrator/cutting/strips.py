"""A plan by strips, first fit: quick, plain, never the best. It is what is left when the solver fails.

Strips lie along x, as wide as their first part. Each part goes, widest first, into the first strip with room for it,
else into a new strip of the first board with room, else onto the cheapest plate that takes it.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.cutting.problem import LEAST_DROP, CuttingProblem, Piece, Plate, ProblemPlan, boards_from


class NoPlate(ValueError):
    """A piece that none of the plates left is large enough for."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(f"no plate for {piece.name}")
        self.piece = piece


@dataclass
class Strip:
    y: int
    length: int  # that it has
    width: int
    parts: list[tuple[int, int, int, int]] = field(default_factory=list)  # piece, x, length, width
    used: int = 0  # of the length, with a kerf after each part

    def take(self, piece: int, length: int, width: int, kerf: int) -> bool:
        if length > self.length - self.used or width > self.width:
            return False
        self.parts.append((piece, self.used, length, width))
        self.used += length + kerf
        return True


@dataclass
class OpenBoard:
    plate: int
    length: int
    width: int
    used: int = 0

    def open_strip(self, width: int, kerf: int) -> Strip | None:
        if width > self.width - self.used:
            return None
        strip = Strip(self.used, self.length, width)
        self.used += width + kerf
        return strip


class Packing:
    def __init__(self, problem: CuttingProblem, *, with_limited: bool = True) -> None:
        self.problem = problem
        self.boards: list[tuple[OpenBoard, list[Strip]]] = []
        self.strips: list[Strip] = []
        self.left = [plate.number if with_limited or plate.number is None else 0 for plate in problem.plates]

    def place_all(self, number: int, sides: list[tuple[int, int]]) -> None:
        """Place all copies of a piece; where one did not fit, the next ones need not be tried."""
        first = 0
        for _ in range(self.problem.pieces[number].quantity):
            while first < len(self.strips) and not self._fits(number, sides, self.strips[first]):
                first += 1
            if first == len(self.strips):
                self._fits(number, sides, self._new_strip(number, sides))

    def _fits(self, number: int, sides: list[tuple[int, int]], strip: Strip) -> bool:
        return any(strip.take(number, length, width, self.problem.kerf) for length, width in sides)

    def _new_strip(self, number: int, sides: list[tuple[int, int]]) -> Strip:
        for board, strips in self.boards:
            if strip := self._open(board, strips, sides):
                return strip
        plates = self.problem.plates
        for plate in sorted(range(len(plates)), key=lambda index: plates[index].cost):
            board = OpenBoard(plate, *plates[plate].usable)
            if self.left[plate] != 0 and (strip := self._open(board, strips := [], sides)):
                self.left[plate] = None if (left := self.left[plate]) is None else left - 1
                self.boards.append((board, strips))
                return strip
        raise NoPlate(self.problem.pieces[number])

    def _open(self, board: OpenBoard, strips: list[Strip], sides: list[tuple[int, int]]) -> Strip | None:
        widths = (width for length, width in sides if length <= board.length)
        strip = next(filter(None, (board.open_strip(width, self.problem.kerf) for width in widths)), None)
        if strip:
            strips.append(strip)
            self.strips.append(strip)
        return strip


def plan_by_strips(problem: CuttingProblem) -> ProblemPlan:
    """Return the cheaper of two plans: with what there is only so much of first, and without it."""
    plan = _plan(problem, Packing(problem))
    if {plate.number is None for plate in problem.plates} == {True, False}:
        with suppress(NoPlate):
            other = _plan(problem, Packing(problem, with_limited=False))
            return min(plan, other, key=lambda each: each.cost(problem))
    return plan


def _plan(problem: CuttingProblem, packing: Packing) -> ProblemPlan:
    sides = [_sides(piece) for piece in problem.pieces]
    for number in sorted(range(len(sides)), key=lambda number: sides[number][0][::-1], reverse=True):
        packing.place_all(number, sides[number])
    kerf = problem.kerf
    rows = [_row(board, strips, problem.plates[board.plate], kerf) for board, strips in packing.boards]
    plan = ProblemPlan(boards_from(rows), bound=problem.least_boards, is_optimal=False, solver="strips")
    is_optimal = len(problem.plates) == 1 and plan.number == plan.bound
    return ProblemPlan(plan.boards, plan.bound, is_optimal, plan.solver)


def _sides(piece: Piece) -> list[tuple[int, int]]:
    """Return how a piece may lie, the longer side along the strip first."""
    if not piece.can_turn:
        return [(piece.length, piece.width)]
    long, short = max(piece.length, piece.width), min(piece.length, piece.width)
    return [(long, short), (short, long)] if long != short else [(long, short)]


def _row(board: OpenBoard, strips: list[Strip], plate: Plate, kerf: int) -> list[object]:
    left, bottom = plate.trim.left, plate.trim.bottom
    parts, drops = [], [(left, bottom + board.used, board.length, board.width - board.used)]
    for strip in strips:
        drops.append((left + strip.used, bottom + strip.y, strip.length - strip.used, strip.width))
        for piece, x, length, width in strip.parts:
            parts.append((piece, left + x, bottom + strip.y, length, width))
            drops.append((left + x, bottom + strip.y + width + kerf, length, strip.width - width - kerf))
    return [board.plate, 1, parts, [drop for drop in drops if min(drop[2:]) >= LEAST_DROP]]
