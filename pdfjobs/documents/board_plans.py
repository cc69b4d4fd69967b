"""A board and its cuts, as a cutting sheet draws them: parts, offcuts, and the saw's cuts with their numbers."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from pdfjobs.documents.fields import Amount, Flag, Rows, Text, Variables
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.panels import shorten

MOST_BOARDS, MOST_PLACED, MOST_CUTS = 60, 1000, 1500  # of a document
MOST_TAKEN = 20  # offcuts that are cut alike
LARGEST_LETTERS, SMALLEST_LETTERS = Decimal(60), Decimal(26)  # millimetres on the board
LETTER_WIDTH = Decimal("0.62")  # of its height
LONGEST_NAME = 32
MARK = 30  # millimetres: the radius of a cut's number
Coordinate = Annotated[Decimal, Amount(most=10_000, places=2)]
Side = Annotated[Decimal, Amount(least=Decimal("0.1"), most=10_000, places=2)]


class DrawnRectangle(Variables):
    x: Coordinate = Field(description="from the corner with the trims, in millimetres")
    y: Coordinate = Field(description="from the corner with the trims, in millimetres")
    length: Side = Field(description="along the board's length, in millimetres")
    width: Side = Field(description="along the board's width, in millimetres")


class PlacedPart(DrawnRectangle):
    name: Annotated[str, Text(160)] = Field(description="name of the part")


class SawCut(Variables):
    number: Annotated[Decimal, Amount(least=Decimal(1), most=10_000, places=0)] = Field(
        description="in the saw's order"
    )
    across: Flag = Field(default=False, description="whether it is parallel to the board's width")
    at: Coordinate = Field(description="where it is, in millimetres from the corner")
    begin: Coordinate = Field(description="where its line begins, in the other direction")
    end: Coordinate = Field(description="where its line ends")


class StockOffcut(Variables):
    code: Annotated[str, Text(20)] = Field(description="as on its label")
    place: Annotated[str, Text(40)] = Field("", description="where it is")


class BoardPlan(Variables):
    material: Annotated[str, Text(200)] = Field("", description="the board: material, colour, thickness")
    taken: Annotated[list[StockOffcut], Rows(MOST_TAKEN, least=0)] = Field(
        [], description="offcuts of the store that are cut in place of whole boards"
    )
    length: Side = Field(description="of the board, in millimetres")
    width: Side = Field(description="of the board, in millimetres")
    boards: Annotated[Decimal, Amount(least=Decimal(1), most=100_000, places=0)] = Field(
        Decimal(1), description="how many boards are cut alike"
    )
    parts: Annotated[list[PlacedPart], Rows(MOST_PLACED)] = Field(description="parts, in the order of cutting")
    offcuts: Annotated[list[DrawnRectangle], Rows(MOST_PLACED, least=0)] = Field(
        [], description="what is left to be used"
    )
    cuts: Annotated[list[SawCut], Rows(MOST_CUTS, least=0)] = Field([], description="cuts, in the saw's order")


def drawn_board(number: int, board: BoardPlan, formatter: LocaleFormatter) -> dict[str, object]:
    def side(value: Decimal) -> str:
        return formatter.number(value, grouped=False)

    sizes = Counter((part.name, part.length, part.width) for part in board.parts)
    return {
        "number": str(number),
        "material": board.material,
        "taken": [" · ".join(filter(None, (offcut.code, offcut.place))) for offcut in board.taken],
        "size": f"{side(board.length)} × {side(board.width)} mm",
        "copies": formatter.number(board.boards),
        "view_box": f"-30 -30 {board.length + 60} {board.width + 60}",
        "outline": (board.length, board.width),
        "parts": [_part(part, side) for part in board.parts],
        "offcuts": board.offcuts,
        "cuts": [_cut(cut) for cut in board.cuts],
        "contents": [
            f"{shorten(name, LONGEST_NAME)} {side(length)} × {side(width)}" + (f" ({count})" if count > 1 else "")
            for (name, length, width), count in sizes.items()
        ],
        "left": [f"{side(offcut.length)} × {side(offcut.width)}" for offcut in board.offcuts],
    }


def _part(part: PlacedPart, side: Callable[[Decimal], str]) -> dict[str, object]:
    name, size = shorten(part.name, LONGEST_NAME), f"{side(part.length)} × {side(part.width)}"
    along, across = max(part.length, part.width), min(part.length, part.width)
    longest = max(len(name), len(size))
    height = min(LARGEST_LETTERS, across * Decimal("0.36"), along * Decimal("0.9") / (LETTER_WIDTH * longest))
    is_readable = height >= SMALLEST_LETTERS
    return {
        "place": part,
        "name": name if is_readable else "",
        "size": size,
        "x": f"{part.x + part.length / 2:.1f}",
        "y": f"{part.y + part.width / 2:.1f}",
        "height": f"{height:.0f}",
        "is_upright": part.width > part.length,
    }


def _cut(cut: SawCut) -> dict[str, object]:
    at, begin, end = cut.at, cut.begin, cut.end
    path = f"M{at} {begin}V{end}" if cut.across else f"M{begin} {at}H{end}"
    # Trims meet in the corner, where their numbers would cover each other.
    along = (begin + end) / 2 if at < MARK else begin
    x, y = (at, along) if cut.across else (along, at)
    return {"number": str(cut.number), "path": path, "x": f"{x:.1f}", "y": f"{y:.1f}"}
