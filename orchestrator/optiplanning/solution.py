"""Reads OptiPlanning's solution XML as a stream, safely, and returns the figures of the best solution."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import Any
from xml.parsers.expat import errors
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

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

Figures = dict[str, Any]


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
    return figures_of(chosen.attributes) | board_figures(chosen.boards) if chosen else {}


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
        raise InvalidSolution("it declares entities or refers to other files") from None
    except (SAXException, ValueError, LookupError) as error:
        raise InvalidSolution(str(error)) from None
    if not length:
        raise InvalidSolution("it is empty", cut_short=True)
    if not handler.children:
        raise InvalidSolution("it has no content")


@dataclass
class SolutionElement:
    """The attributes of a Solution, and the square metres of the boards in it, by material; None if unknown."""

    attributes: Mapping[str, str]
    boards: dict[str, Decimal | None] = field(default_factory=dict)

    def add_boards(self, pattern: Any) -> None:
        """Add the boards of a pattern; one without a size makes the area of its material unknown."""
        material = pattern.get("material", "")[:LONGEST_TEXT]
        length, width = (pattern.get(side, "").strip().replace(",", ".") for side in ("length", "width"))
        number = pattern.get("boards", "").strip() or "1"
        before = self.boards.get(material, Decimal(0))
        is_known = AMOUNT.fullmatch(length) and AMOUNT.fullmatch(width) and COUNT.fullmatch(number)
        if material in self.boards or len(self.boards) < MOST_MATERIALS:
            area = Decimal(length) * Decimal(width) * int(number) / MM2_PER_M2 if is_known else None
            self.boards[material] = before + area if before is not None and area is not None else None


class SolutionHandler(ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self.depth = self.children = self.solutions = 0
        self.read: SolutionElement | None = None
        self.best: SolutionElement | None = None
        self.first: SolutionElement | None = None

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InvalidSolution(f"it is nested more than {DEEPEST} levels deep")
        self.children += self.depth == 2  # a child of the root
        if name.rpartition(":")[2] == "Solution":
            self.solutions += 1
            self.read = SolutionElement(dict(attrs.items()))
            if self.first is None:
                self.first = self.read
            if self.best is None and attrs.get("best", "").strip().lower() in ("1", "true"):
                self.best = self.read
        elif name.rpartition(":")[2] == "Pattern" and self.read:
            self.read.add_boards(attrs)

    def endElement(self, name: str) -> None:
        self.depth -= 1

    @property
    def chosen(self) -> SolutionElement | None:
        """Return the best. If no one of several is marked, it is unknown which was chosen."""
        return self.best or (self.first if self.solutions == 1 else None)


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
