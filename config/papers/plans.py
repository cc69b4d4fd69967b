"""A job's cutting plan on paper: its boards with numbered cuts, and its pieces in the order in which they are cut."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.cutting.sequence import Cut, sequence_of
from orchestrator.cutting.stock import boards_to_take
from orchestrator.models import Job
from orchestrator.optiplanning.solution import CutPattern, Rectangle, part_name, whole_patterns_of
from orchestrator.schemas.orders import MOST_PIECES, Order, Part
from pdfjobs.documents.board_plans import MOST_BOARDS, MOST_CUTS, MOST_PLACED, MOST_TAKEN

Piece = tuple[Part, int, int]  # of the order: its part, which of the part's pieces it is, its number among the labels


def board_plans(job: Job, order: Order) -> list[dict[str, object]]:
    """Return the boards as a cutting sheet draws them, as many as a document takes."""
    boards, parts, room = [], 0, MOST_PLACED
    for pattern in boards_to_take(job, order, whole_patterns_of(job)[:MOST_BOARDS]):
        sequence = sequence_of(pattern)
        parts += len(pattern.parts)
        if parts > room or len(pattern.drops) > room:
            break
        boards.append(
            {
                "material": pattern.board,
                "taken": [{"code": code, "place": place} for code, place in pattern.taken[:MOST_TAKEN]],
                "length": _size(pattern.length),
                "width": _size(pattern.width),
                "boards": pattern.boards,
                "parts": [
                    _place(part) | {"name": part_name(part)} for part in (sequence.parts if sequence else pattern.parts)
                ],
                "offcuts": [_place(drop) for drop in pattern.drops],
                "cuts": [_cut(cut) for cut in (sequence.cuts if sequence else [])][:MOST_CUTS],
            }
        )
    return boards


def _place(placed: Rectangle) -> dict[str, str]:
    return {side: _size(getattr(placed, side)) for side in ("x", "y", "length", "width")}


def _cut(cut: Cut) -> dict[str, object]:
    places = {"at": _size(cut.at), "begin": _size(cut.begin), "end": _size(cut.end)}
    return {"number": cut.number, "across": cut.is_across, **places}


def _size(millimetres: float) -> str:
    return f"{millimetres:.2f}"


def label_pieces(job: Job, order: Order, wanted: range) -> list[Piece]:
    """Return the wanted pieces, in the order of cutting if the solution has exactly those of the order."""
    patterns = whole_patterns_of(job)
    cut: Counter[str] = Counter()
    for pattern in patterns:
        for part in pattern.parts:
            cut[part_name(part)] += pattern.boards
    ordered = {part.id: part.quantity for part in order.parts}
    if cut != ordered or cut.total() > MOST_PIECES:
        return list(pieces(order.parts, wanted))
    parts = {part.id: part for part in order.parts}
    counts: Counter[str] = Counter()
    labels = []
    for number, name in enumerate(_names(patterns), start=1):
        counts[name] += 1
        if number in wanted:
            labels.append((parts[name], counts[name], number))
    return labels


def _names(patterns: list[CutPattern]) -> Iterator[str]:
    for pattern in patterns:
        sequence = sequence_of(pattern)
        names = [part_name(part) for part in (sequence.parts if sequence else pattern.parts)]
        for _ in range(pattern.boards):
            yield from names


def pieces(parts: list[Part], wanted: range) -> Iterator[Piece]:
    """Yield each wanted piece of an order: its part, which of the part's pieces it is, and its number in the order."""
    before = 0
    for part in parts:
        for number in range(max(wanted.start, before + 1), min(wanted.stop, before + part.quantity + 1)):
            yield part, number - before, number
        before += part.quantity
