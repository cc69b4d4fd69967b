"""Reads a stored solution for people: the chosen one, the rejected ones, and the chosen one's boards if it has them.

A board is a `Pattern` element in its `Solution`, with `length` and `width` in millimetres, `boards` (how many are cut
alike) and `material`. It holds `Part` and `Drop` elements with `x`, `y`, `length` and `width`; a part has a `name`.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from xml.sax.xmlreader import AttributesImpl

from django.db.models.functions import Length

from orchestrator.models import SolutionFile
from orchestrator.optiplanning.solution import (
    LONGEST_TEXT,
    Figures,
    InvalidSolution,
    SolutionElement,
    SolutionHandler,
    figures_of,
    parse,
)

BIGGEST_DRAWN = 5 * 1024**2  # bytes of a file
MOST_SOLUTIONS, MOST_PATTERNS, MOST_PIECES = 20, 60, 3_000  # that are shown
LARGEST_MM = 10_000
SIZE = re.compile(r"[0-9]{1,5}([.,][0-9]{1,6})?", re.ASCII)


@dataclass(frozen=True)
class Rectangle:
    """A part of a board, or what is left of it, in millimetres from its top left corner."""

    x: float
    y: float
    length: float
    width: float
    name: str = ""


@dataclass
class CutPattern:
    length: float
    width: float
    boards: int = 1
    material: str = ""
    parts: list[Rectangle] = field(default_factory=list)
    drops: list[Rectangle] = field(default_factory=list)

    @property
    def used(self) -> float:
        return min(1.0, sum(part.length * part.width for part in self.parts) / (self.length * self.width))


@dataclass(frozen=True)
class CuttingPlan:
    chosen: Figures | None
    rejected: list[Figures]
    patterns: list[CutPattern]
    is_cut_short: bool  # the solution has more patterns than are drawn


@lru_cache(maxsize=64)
def plan_of(pk: int, sha256: str) -> CuttingPlan | None:
    """Return the plan in a stored file; a file is never changed, so it is read once. None if it is too large."""
    stored = SolutionFile.objects.annotate(size=Length("content")).filter(pk=pk, sha256=sha256, size__lte=BIGGEST_DRAWN)
    content = stored.values_list("content", flat=True).first()
    return read_plan(bytes(content)) if content is not None else None


def read_plan(content: bytes) -> CuttingPlan | None:
    handler = _PlanHandler()
    try:
        parse([content], handler)
    except InvalidSolution:
        return None
    chosen, solutions = handler.chosen, handler.patterns
    return CuttingPlan(
        figures_of(chosen.attributes) if chosen else None,
        [figures_of(solution.attributes) for solution, _patterns in solutions if solution is not chosen],
        next((patterns for solution, patterns in solutions if solution is chosen), []),
        is_cut_short=handler.is_cut_short,
    )


class _PlanHandler(SolutionHandler):
    def __init__(self) -> None:
        super().__init__()
        self.patterns: list[tuple[SolutionElement, list[CutPattern]]] = []  # of each solution
        self.pattern: CutPattern | None = None
        self.pieces = 0
        self.is_cut_short = False

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        super().startElement(name, attrs)
        match name.rpartition(":")[2]:
            case "Solution" if self.read and len(self.patterns) < MOST_SOLUTIONS:
                self.patterns.append((self.read, []))
            case "Pattern" if self.patterns and self.patterns[-1][0] is self.read:
                self.pattern = self._pattern(attrs, self.patterns[-1][1])
            case "Part" | "Drop" as kind if self.pattern:
                self._place(kind, attrs, self.pattern)

    def endElement(self, name: str) -> None:
        super().endElement(name)
        if name.rpartition(":")[2] == "Pattern":
            self.pattern = None

    def _pattern(self, attrs: AttributesImpl, patterns: list[CutPattern]) -> CutPattern | None:
        length, width = _size(attrs, "length"), _size(attrs, "width")
        if not length or not width:
            return None
        if len(patterns) >= MOST_PATTERNS or self.pieces >= MOST_PIECES:
            self.is_cut_short = True
            return None
        boards = attrs.get("boards", "").strip()
        number = int(boards) if boards.isascii() and boards.isdigit() and len(boards) < 6 else 1
        patterns.append(CutPattern(length, width, number, attrs.get("material", "")[:LONGEST_TEXT]))
        return patterns[-1]

    def _place(self, kind: str, attrs: AttributesImpl, pattern: CutPattern) -> None:
        x, y, length, width = (_size(attrs, name) for name in ("x", "y", "length", "width"))
        self.pieces += 1
        if self.pieces > MOST_PIECES:
            self.is_cut_short = True
        elif x is not None and y is not None and length and width:
            placed = Rectangle(x, y, length, width, attrs.get("name", "")[:LONGEST_TEXT])
            (pattern.parts if kind == "Part" else pattern.drops).append(placed)


def _size(attrs: AttributesImpl, name: str) -> float | None:
    text = attrs.get(name, "").strip()
    size = float(text.replace(",", ".")) if SIZE.fullmatch(text) else LARGEST_MM + 1
    return size if size <= LARGEST_MM else None
