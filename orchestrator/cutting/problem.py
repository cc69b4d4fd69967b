"""What a solver gets and returns. All sizes are whole tenths of a millimetre: saws are no more exact.

x runs along a plate's length, which is the direction of its grain, and y along its width; both begin at the corner
with the trims. A plan says where each part lies; the cuts follow from that (`sequence`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

LEAST_DROP = 500  # the shorter side of what is called an offcut; anything smaller is waste


@dataclass(frozen=True)
class Piece:
    name: str  # the part's id in the order
    length: int  # along x, unless it is turned
    width: int
    quantity: int
    can_turn: bool


@dataclass(frozen=True)
class Trim:
    """What is cut off a plate's edges first, kerf included."""

    left: int = 0
    bottom: int = 0
    right: int = 0
    top: int = 0


@dataclass(frozen=True)
class Plate:
    length: int
    width: int
    cost: int  # plans with the least sum of these are the best
    number: int | None = None  # how many there are; None: as many as wanted
    trim: Trim = Trim()
    name: str = ""  # of a plate or an offcut in stock

    @property
    def usable(self) -> tuple[int, int]:
        trim = self.trim
        return self.length - trim.left - trim.right, self.width - trim.bottom - trim.top

    def takes(self, piece: Piece) -> bool:
        length, width = self.usable
        is_straight = piece.length <= length and piece.width <= width
        return is_straight or (piece.can_turn and piece.width <= length and piece.length <= width)


@dataclass(frozen=True)
class CuttingProblem:
    """The parts of one material, colour and thickness."""

    material_code: str
    color: str
    thickness: Decimal
    pieces: tuple[Piece, ...]
    plates: tuple[Plate, ...]
    kerf: int
    stages: int

    @property
    def least_boards(self) -> int:
        """Return how many of the largest plates have the area of the parts: no plan has fewer boards."""
        area = sum(piece.length * piece.width * piece.quantity for piece in self.pieces)
        largest = max(length * width for length, width in (plate.usable for plate in self.plates))
        return -(-area // largest)


@dataclass(frozen=True)
class CuttingOrder:
    problems: tuple[CuttingProblem, ...]


@dataclass(frozen=True)
class Placed:
    piece: int  # its index in the problem
    x: int
    y: int
    length: int
    width: int


@dataclass(frozen=True)
class Drop:
    x: int
    y: int
    length: int
    width: int


@dataclass(frozen=True)
class Board:
    plate: int  # its index in the problem
    copies: int  # boards that are cut alike
    parts: tuple[Placed, ...]
    drops: tuple[Drop, ...]


@dataclass(frozen=True)
class ProblemPlan:
    boards: tuple[Board, ...]
    bound: int  # no plan has fewer boards, as far as is known
    is_optimal: bool
    solver: str

    @property
    def number(self) -> int:
        return sum(board.copies for board in self.boards)

    @property
    def offcuts(self) -> int:
        """Return the sum of the squares of the offcuts' areas: a few large ones are worth more than many small ones."""
        return sum(board.copies * (drop.length * drop.width) ** 2 for board in self.boards for drop in board.drops)

    def cost(self, problem: CuttingProblem) -> int:
        return sum(problem.plates[board.plate].cost * board.copies for board in self.boards)


@dataclass(frozen=True)
class OrderPlan:
    problems: tuple[ProblemPlan, ...]  # in the order of the problems

    @property
    def boards(self) -> int:
        return sum(plan.number for plan in self.problems)


def boards_from(rows: list[Any]) -> tuple[Board, ...]:
    """Read boards as the solver's process writes them; boards that are alike become one."""
    alike: dict[tuple[Any, ...], int] = {}
    for plate, copies, parts, drops in rows:
        key = plate, tuple(sorted(map(tuple, parts), key=position)), tuple(sorted(map(tuple, drops)))
        alike[key] = alike.get(key, 0) + copies
    return tuple(Board(plate, copies, *_placed(parts, drops)) for (plate, parts, drops), copies in alike.items())


def position(part: tuple[int, ...]) -> tuple[int, ...]:
    return part[1:]


def _placed(parts: Any, drops: Any) -> Iterator[Any]:
    yield tuple(Placed(*part) for part in parts)
    yield tuple(Drop(*drop) for drop in drops)
