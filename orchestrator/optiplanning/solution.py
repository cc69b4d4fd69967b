"""Reads OptiPlanning's solution XML as a stream, safely: the figures of the best solution, and for people all of them.

A board is a `Pattern` element in its `Solution`, with `length` and `width` in millimetres, `boards` (how many are cut
alike) and `material`; the built-in optimiser adds `color` and `thickness`. It holds `Part` and `Drop` elements with
`x`, `y`, `length` and `width`; a part has a `name`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any
from xml.parsers.expat import errors
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser
from django.conf import settings
from django.db.models.functions import Length

from orchestrator import sentences
from orchestrator.models import Job, SolutionFile
from orchestrator.schemas.figures import board_name
from orchestrator.schemas.orders import plain

DEEPEST = 200  # every open element takes memory; a solution has only a few levels
# The parser's errors at the end of a truncated file.
CUT_SHORT = {
    errors.codes[message]
    for message in (
        errors.XML_ERROR_NO_ELEMENTS,
        errors.XML_ERROR_UNCLOSED_TOKEN,
        errors.XML_ERROR_PARTIAL_CHAR,
        errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}
COUNTS = {"patterns": "patterns", "cycles": "cycles", "zcuts": "cuts"}
AMOUNTS = {
    "mqBoards": "boards_m2",
    "jobTime": "time_s",
    "jobCost": "cost",
    "mqDrops": "drops_m2",
    "diffDrops": "drop_kinds",
}
COUNT = re.compile("[0-9]{1,12}", re.ASCII)
AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?", re.ASCII)
TEXTS = ("name", "algo")
LONGEST_TEXT = 100
MOST_MATERIALS = 5_000  # as many as an order can have
MM2_PER_M2 = 1_000_000
BIGGEST_DRAWN = 5 * 1024**2  # bytes of a file
MOST_SOLUTIONS, MOST_PATTERNS, MOST_PIECES = 20, 60, 3_000  # that are shown
MOST_PLANNED = 20_000  # patterns, and pieces on them, that are read for papers
LARGEST_MM = 10_000
SIZE = re.compile(r"[0-9]{1,5}([.,][0-9]{1,6})?", re.ASCII)

NAME = re.compile(r"(?:GOVDE|ARKALIK)_(.+)_TRIM_[0-9.]+")  # as the sheets call a part

Figures = dict[str, Any]
Sides = tuple[float | None, float | None]  # of a board: length and width, None if unknown


class InvalidSolution(ValueError):
    """The message is the reason; a file that is cut short may still be growing."""

    def __init__(self, reason: str, *, cut_short: bool = False) -> None:
        super().__init__(reason)
        self.cut_short = cut_short


def read_solution(chunks: Iterable[bytes]) -> Figures:
    """Return the figures of the best solution; empty if the file is valid but has no Solution element."""
    handler = SolutionHandler()
    parse(chunks, handler)
    chosen = handler.chosen
    return chosen.figures | board_figures(chosen.boards) if chosen else {}


def parse(chunks: Iterable[bytes], handler: "SolutionHandler") -> None:
    parser = create_parser(forbid_dtd=False, forbid_entities=True, forbid_external=True)
    parser.setContentHandler(handler)
    at_end, length, chunk = False, 0, b""
    try:
        for chunk in chunks:
            parser.feed(chunk)
            length += len(chunk)
        at_end = True
        parser.close()
    except SAXParseException as error:
        code = getattr(error.getException(), "code", None)
        # Some copies have their final size from the start, filled with zeros.
        cut_short = (at_end and code in CUT_SHORT) or chunk.endswith(b"\0")
        raise InvalidSolution(f"line {error.getLineNumber()}: {error.getMessage()}", cut_short=cut_short) from None
    except DefusedXmlException:
        raise InvalidSolution(sentences.REFERS_ELSEWHERE) from None
    except (SAXException, ValueError, LookupError) as error:
        raise InvalidSolution(str(error)) from None
    if not length:
        raise InvalidSolution(sentences.IS_EMPTY, cut_short=True)
    if not handler.children:
        raise InvalidSolution(sentences.NO_CONTENT)


@dataclass(frozen=True)
class Rectangle:
    """A part of a board, or what is left of it, in millimetres from its top left corner."""

    x: float
    y: float
    length: float
    width: float
    name: str = ""


def part_name(part: Rectangle) -> str:
    """Return the id that a part has in its order."""
    match = NAME.fullmatch(part.name)
    return match[1] if match else part.name or "?"


@dataclass
class CutPattern:
    length: float
    width: float
    boards: int = 1
    material: str = ""
    color: str = ""
    thickness: str = ""  # in millimetres
    parts: list[Rectangle] = field(default_factory=list)
    drops: list[Rectangle] = field(default_factory=list)
    taken: tuple[tuple[str, str], ...] = ()  # code and place of the offcuts that it is cut from

    @property
    def board(self) -> str:
        """Return which board to take, in words."""
        return " · ".join(filter(None, (self.material, self.color, self.thickness and f"{self.thickness} mm")))

    @property
    def used(self) -> float:
        return min(1.0, sum(part.length * part.width for part in self.parts) / (self.length * self.width))


@dataclass
class SolutionElement:
    """A Solution: the figures in its attributes, and what is in it."""

    figures: Figures
    # Square metres by material, with its thickness if the file has it; None if unknown.
    boards: dict[str, Decimal | None] = field(default_factory=dict)
    patterns: list[CutPattern] = field(default_factory=list)  # that are drawn
    plates: Counter[Sides] = field(default_factory=Counter)  # boards of each size, also of patterns not drawn

    def add_boards(self, pattern: AttributesImpl) -> None:
        """Add the boards of a pattern; one without a size makes the area of its material unknown."""
        material = board_name(pattern.get("material", "")[:LONGEST_TEXT], _thickness(pattern))
        length, width = (pattern.get(side, "").strip().replace(",", ".") for side in ("length", "width"))
        number = pattern.get("boards", "").strip() or "1"
        before = self.boards.get(material, Decimal(0))
        is_known = AMOUNT.fullmatch(length) and AMOUNT.fullmatch(width) and COUNT.fullmatch(number)
        if material in self.boards or len(self.boards) < MOST_MATERIALS:
            area = Decimal(length) * Decimal(width) * int(number) / MM2_PER_M2 if is_known else None
            self.boards[material] = before + area if before is not None and area is not None else None


class SolutionHandler(ContentHandler):
    def __init__(self, *, most_patterns: int = MOST_PATTERNS, most_pieces: int = MOST_PIECES) -> None:
        super().__init__()
        self.most_patterns, self.most_pieces = most_patterns, most_pieces
        self.depth = self.children = self.count = self.pieces = 0
        self.solutions: list[SolutionElement] = []  # the first ones
        self.solution: SolutionElement | None = None  # that is being read
        self.pattern: CutPattern | None = None
        self.best: SolutionElement | None = None
        self.is_cut_short = False

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InvalidSolution(sentences.TOO_DEEP % {"levels": DEEPEST})
        self.children += self.depth == 2  # a child of the root
        match name.rpartition(":")[2]:
            case "Solution":
                self._begin_solution(attrs)
            case "Pattern" if self.solution:
                self.solution.add_boards(attrs)
                self.pattern = self._pattern(attrs, self.solution)
            case "Part" | "Drop" as kind if self.pattern:
                self._place(kind, attrs, self.pattern)

    def endElement(self, name: str) -> None:
        self.depth -= 1
        if name.rpartition(":")[2] == "Pattern":
            self.pattern = None

    @property
    def chosen(self) -> SolutionElement | None:
        """Return the best. If no one of several is marked, it is unknown which was chosen."""
        return self.best or (self.solutions[0] if self.count == 1 else None)

    def _begin_solution(self, attrs: AttributesImpl) -> None:
        self.count += 1
        self.solution = SolutionElement(figures_of(dict(attrs.items())))
        if self.count <= MOST_SOLUTIONS:
            self.solutions.append(self.solution)
        if self.best is None and attrs.get("best", "").strip().lower() in ("1", "true"):
            self.best = self.solution

    def _pattern(self, attrs: AttributesImpl, solution: SolutionElement) -> CutPattern | None:
        length, width, patterns = _size(attrs, "length"), _size(attrs, "width"), solution.patterns
        boards = attrs.get("boards", "").strip()
        number = int(boards) if boards.isascii() and boards.isdigit() and len(boards) < 6 else 1
        solution.plates[length, width] += number
        if not length or not width:
            return None
        if len(patterns) >= self.most_patterns or self.pieces >= self.most_pieces:
            self.is_cut_short = True
            return None
        material, color = (attrs.get(name, "")[:LONGEST_TEXT] for name in ("material", "color"))
        patterns.append(CutPattern(length, width, number, material, color, _thickness(attrs)))
        return patterns[-1]

    def _place(self, kind: str, attrs: AttributesImpl, pattern: CutPattern) -> None:
        x, y, length, width = (_size(attrs, name) for name in ("x", "y", "length", "width"))
        self.pieces += 1
        if self.pieces > self.most_pieces:
            self.is_cut_short = True
        elif x is not None and y is not None and length and width:
            placed = Rectangle(x, y, length, width, attrs.get("name", "")[:LONGEST_TEXT])
            (pattern.parts if kind == "Part" else pattern.drops).append(placed)


def figures_of(solution: Mapping[str, str]) -> Figures:
    """Return the figures of a Solution element. They are only displayed, so what is no number is left out."""
    figures: Figures = {name: solution[name][:LONGEST_TEXT] for name in TEXTS if solution.get(name)}
    for attribute, name in COUNTS.items():
        # Digits only: 1,234 may be a thousand or a decimal.
        if COUNT.fullmatch(count := solution.get(attribute, "").strip()):
            figures[name] = int(count)
    for attribute, name in AMOUNTS.items():
        # Also with a decimal comma: 12,5.
        if AMOUNT.fullmatch(amount := solution.get(attribute, "").strip().replace(",", ".")):
            figures[name] = plain(Decimal(amount))
    return figures


def board_figures(boards: Mapping[str, Decimal | None]) -> Figures:
    areas = {material: plain(area) for material, area in boards.items() if material and area}
    return {"boards_by_material": areas} if areas and len(areas) == len(boards) else {}


def merge_figures(figures: list[Figures]) -> Figures:
    """Return the figures of several solutions as one: numbers are added, texts kept if all agree."""
    if len(figures) == 1:
        return figures[0]
    values_of: dict[str, list[Any]] = defaultdict(list)
    for name, value in chain.from_iterable(file_figures.items() for file_figures in figures):
        values_of[name].append(value)
    texts = {name: values[0] for name, values in values_of.items() if name in TEXTS and len(set(values)) == 1}
    counts = {name: sum(values_of[name]) for name in COUNTS.values() if name in values_of}
    amounts = {
        name: plain(sum(map(Decimal, values_of[name]), Decimal(0))) for name in AMOUNTS.values() if name in values_of
    }
    return texts | counts | amounts | _merge_boards(values_of["boards_by_material"], of=len(figures))


def _merge_boards(boards: list[dict[str, str]], *, of: int) -> Figures:
    merged: dict[str, Decimal | None] = defaultdict(Decimal)
    for material, area in chain.from_iterable(areas.items() for areas in boards):
        merged[material] += Decimal(area)  # type: ignore[operator]  # none is None
    return board_figures(merged) if len(boards) == of else {}


@dataclass(frozen=True)
class CuttingPlan:
    chosen: Figures | None
    rejected: list[Figures]
    patterns: list[CutPattern]
    is_cut_short: bool  # the solution has more patterns than are drawn
    plates: Counter[Sides] = field(default_factory=Counter)


@lru_cache(maxsize=64)
def plan_of(pk: int, sha256: str) -> CuttingPlan | None:
    """Return the plan in a stored file; a file is never changed, so it is read once. None if it is too large."""
    return _read_stored(pk, sha256, SolutionHandler())


def whole_plan_of(pk: int, sha256: str) -> CuttingPlan | None:
    """Return the plan with boards and pieces that are not shown; it may be large, so it is not kept."""
    return _read_stored(pk, sha256, _whole())


def read_whole_plan(content: bytes) -> CuttingPlan | None:
    """Read a plan of the built-in optimiser, which has an offcut for each piece at most, or a few."""
    return read_plan(content, SolutionHandler(most_patterns=MOST_PLANNED, most_pieces=10 * MOST_PLANNED))


def _whole() -> SolutionHandler:
    return SolutionHandler(most_patterns=MOST_PLANNED, most_pieces=MOST_PLANNED)


@lru_cache(maxsize=64)
def plates_of(pk: int, sha256: str) -> Counter[Sides]:
    """Return how many boards of each size a stored file has, however large it is; empty if it does not say."""
    plan = _read_stored(pk, sha256, SolutionHandler(most_patterns=0), biggest=settings.XML_MAX_MB * 1024**2)
    return plan.plates if plan else Counter()


def whole_patterns_of(job: Job) -> list[CutPattern]:
    """Return all boards of a job's solution; none if it has no solution, or one that is too large."""
    if not job.xml_sha256:
        return []
    files = job.solution_files.order_by("name").values_list("pk", "sha256")
    plans = [whole_plan_of(pk, sha256) for pk, sha256 in files]
    return [
        pattern
        for plan in plans
        for pattern in (plan.patterns if plan and not plan.is_cut_short else [])
        if pattern.parts
    ]


def _read_stored(pk: int, sha256: str, handler: SolutionHandler, *, biggest: int = BIGGEST_DRAWN) -> CuttingPlan | None:
    stored = SolutionFile.objects.annotate(size=Length("content")).filter(pk=pk, sha256=sha256, size__lte=biggest)
    content = stored.values_list("content", flat=True).first()
    return read_plan(bytes(content), handler) if content is not None else None


def read_plan(content: bytes, handler: SolutionHandler | None = None) -> CuttingPlan | None:
    handler = handler or SolutionHandler()
    try:
        parse([content], handler)
    except InvalidSolution:
        return None
    chosen = handler.chosen
    return CuttingPlan(
        chosen.figures | board_figures(chosen.boards) if chosen else None,
        [solution.figures for solution in handler.solutions if solution is not chosen],
        chosen.patterns if chosen else [],
        is_cut_short=handler.is_cut_short,
        plates=chosen.plates if chosen else Counter(),
    )


def _thickness(attrs: AttributesImpl) -> str:
    """Return a thickness as orders write it: 18, not 18.0; nothing if it is no number."""
    text = attrs.get("thickness", "").strip()
    return plain(Decimal(text.replace(",", "."))) if SIZE.fullmatch(text) else ""


def _size(attrs: AttributesImpl, name: str) -> float | None:
    text = attrs.get(name, "").strip()
    size = float(text.replace(",", ".")) if SIZE.fullmatch(text) else LARGEST_MM + 1
    return size if size <= LARGEST_MM else None
