"""The cuts of a board in the order of the saw.

The trims come first. Then the whole board is cut in one direction, and each strip in turn, with all that it is cut
into, before the next one: a walk through the tree of cuts by depth. The tree follows from where parts and offcuts lie,
so it is known of OptiPlanning's boards, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from orchestrator.optiplanning.solution import CutPattern, Rectangle

NEAR = 0.05  # millimetres: half of what sizes are rounded to


@dataclass(frozen=True)
class Cut:
    """A cut from edge to edge of what the saw holds, in millimetres from the board's corner."""

    number: int
    stage: int  # 0 is a trim
    is_across: bool  # parallel to the board's width; if not, to its length
    at: float  # the edge of what is kept
    begin: float  # of the line, in the other direction
    end: float


@dataclass(frozen=True)
class Sequence:
    cuts: list[Cut]
    parts: list[Rectangle]  # in the order in which they leave the saw


@dataclass(frozen=True)
class Box:
    x: tuple[float, float]
    y: tuple[float, float]

    def side(self, is_across: bool) -> tuple[float, float]:
        return self.x if is_across else self.y

    def within(self, side: tuple[float, float], is_across: bool) -> "Box":
        return Box(side, self.y) if is_across else Box(self.x, side)


class NotSeparable(Exception):
    """Cuts from edge to edge do not separate the parts."""


def sequence_of(pattern: CutPattern) -> Sequence | None:
    """Return how to cut a board, or None if cuts from edge to edge do not separate its parts."""
    rectangles = [*pattern.parts, *pattern.drops]
    drops = {id(drop) for drop in pattern.drops}
    walks = []
    for is_across in (False, True):
        try:
            walks.append(list(_walk(_whole(pattern), rectangles, drops, is_across=is_across)))
        except NotSeparable:
            continue
    if not walks:
        return None
    steps = min(walks, key=_effort)
    cuts = [step for step in steps if isinstance(step, Cut)]
    return Sequence(
        [replace(cut, number=number) for number, cut in enumerate(cuts, start=1)],
        [step for step in steps if isinstance(step, Rectangle)],
    )


def _whole(pattern: CutPattern) -> Box:
    return Box((0, pattern.length), (0, pattern.width))


def _effort(steps: list[Cut | Rectangle]) -> tuple[int, int]:
    """Return the stages and the cuts of a walk: the fewer, the better."""
    stages = [step.stage for step in steps if isinstance(step, Cut)]
    return max(stages, default=0), len(stages)


def _walk(box: Box, inside: list[Rectangle], drops: set[int], *, is_across: bool) -> Iterator[Cut | Rectangle]:
    if not inside:
        return
    for direction in (True, False):
        first, last = box.side(direction)
        edge = min(_side(one, direction)[0] for one in inside)
        if edge > first + NEAR:
            yield Cut(0, 0, direction, edge, *box.side(not direction))
            box = box.within((edge, last), direction)
    yield from _split(box, inside, drops, is_across=is_across, stage=1)


def _split(
    box: Box, inside: list[Rectangle], drops: set[int], *, is_across: bool, stage: int
) -> Iterator[Cut | Rectangle]:
    groups = _groups(inside, is_across)
    if len(inside) > 1 and len(groups) == 1:
        raise NotSeparable
    first, last = box.side(is_across)
    if (begin := groups[0][1][0]) > first + NEAR:
        yield Cut(0, stage, is_across, begin, *box.side(not is_across))
    for group, (_, end) in groups:
        is_waste = all(id(one) in drops for one in group)
        if end < last - NEAR and not (is_waste and len(groups) == 1):
            yield Cut(0, stage, is_across, end, *box.side(not is_across))
    for group, side in groups:
        strip = box.within(side, is_across)
        if len(group) > 1 or _is_larger(strip, group[0], not is_across):
            yield from _split(strip, group, drops, is_across=not is_across, stage=stage + 1)
        elif id(group[0]) not in drops:
            yield group[0]


def _is_larger(box: Box, rectangle: Rectangle, is_across: bool) -> bool:
    return box.side(is_across)[1] > _side(rectangle, is_across)[1] + NEAR


def _side(rectangle: Rectangle, is_across: bool) -> tuple[float, float]:
    if is_across:
        return rectangle.x, rectangle.x + rectangle.length
    return rectangle.y, rectangle.y + rectangle.width


def _groups(inside: list[Rectangle], is_across: bool) -> list[tuple[list[Rectangle], tuple[float, float]]]:
    """Return what all cuts in one direction make of a piece: what is in each part of it, and from where to where."""
    groups: list[tuple[list[Rectangle], tuple[float, float]]] = []
    for (begin, end), one in sorted(((_side(one, is_across), one) for one in inside), key=lambda pair: pair[0]):
        if groups and begin < groups[-1][1][1] - NEAR:
            group, (first, last) = groups[-1]
            groups[-1] = [*group, one], (first, max(last, end))
        else:
            groups.append(([one], (begin, end)))
    return groups
