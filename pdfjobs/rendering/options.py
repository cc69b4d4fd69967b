"""The page options that callers may send."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pdfjobs.rendering.errors import OptionsError
from pdfjobs.rendering.reader import Reader

PAPERS = {  # millimetres, upright
    "A3": (297.0, 420.0),
    "A4": (210.0, 297.0),
    "A5": (148.0, 210.0),
    "A6": (105.0, 148.0),
    "Letter": (215.9, 279.4),
    "Legal": (215.9, 355.6),
}
MOST_MARGIN = 60  # millimetres
LEAST_LEFT = 40  # millimetres between two margins
ROOM_FOR_A_LINE = 10  # millimetres that a header or footer needs
MOST_PAGES = 1_000
MOST_RANGES = 50
MOST_LINE = 120  # characters in a part of a header or footer
MOST_METADATA = 500
MOST_KEYWORDS = 30
PLACEHOLDERS = ("page", "pages", "title")
RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


@dataclass(frozen=True)
class Margin:
    top: float = 16.0
    right: float = 16.0
    bottom: float = 18.0
    left: float = 16.0


@dataclass(frozen=True)
class HeaderFooter:
    """Texts in which {page}, {pages} and {title} are replaced."""

    left: str = ""
    center: str = ""
    right: str = ""


@dataclass(frozen=True)
class Metadata:
    """The PDF's metadata; without a title the document's own is used."""

    title: str = ""
    author: str = ""
    subject: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageOptions:
    paper: str = "A4"
    landscape: bool = False
    margin: Margin = field(default_factory=Margin)
    pages: str = ""
    header: HeaderFooter | None = None
    footer: HeaderFooter | None = field(default_factory=lambda: HeaderFooter(right="{page} / {pages}"))
    tagged: bool = False
    metadata: Metadata = field(default_factory=Metadata)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the options, or raise OptionsError with every error."""
        reader = Reader("options", given, known=list(cls.__dataclass_fields__))
        default = cls()
        options = cls(
            paper=reader.choice("paper", PAPERS, default.paper),
            landscape=reader.flag("landscape", default=default.landscape),
            margin=_margin(reader, default.margin),
            pages=_pages(reader),
            header=_line(reader, "header", default.header),
            footer=_line(reader, "footer", default.footer),
            tagged=reader.flag("tagged", default=default.tagged),
            metadata=_metadata(reader),
        )
        if not reader.errors:
            _fits(options, reader)
        if reader.errors:
            raise OptionsError(reader.errors)
        return options

    def canonical(self) -> dict[str, Any]:
        """Return all options including defaults, as JSON; reading them gives the same options."""
        shown = asdict(self)
        shown["metadata"]["keywords"] = list(self.metadata.keywords)
        return shown

    def size(self) -> tuple[float, float]:
        """Return the width and height of the page in millimetres."""
        width, height = PAPERS[self.paper]
        return (height, width) if self.landscape else (width, height)


def _margin(reader: Reader, default: Margin) -> Margin:
    sides = reader.inside("margin", list(Margin.__dataclass_fields__))
    return Margin(
        **{side: sides.number(side, getattr(default, side), least=0, most=MOST_MARGIN) for side in sides.known}
    )


def _line(reader: Reader, name: str, default: HeaderFooter | None) -> HeaderFooter | None:
    if name not in reader.given:
        return default
    if reader.given[name] is None:
        return None
    parts = reader.inside(name, list(HeaderFooter.__dataclass_fields__))
    line = HeaderFooter(**{part: parts.text(part, most=MOST_LINE) for part in parts.known})
    for part in parts.known:
        for word in re.findall(r"\{(\w*)\}", getattr(line, part)):
            if word not in PLACEHOLDERS:
                allowed = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                parts.error(part, f"{{{word}}} is not a placeholder. Allowed: {allowed}.")
    return line


def _pages(reader: Reader) -> str:
    text = reader.text("pages", most=MOST_RANGES * 12).replace(" ", "")
    ranges = text.split(",") if text else []
    if len(ranges) > MOST_RANGES:
        reader.error("pages", f"at most {MOST_RANGES} ranges.")
        return ""
    for part in ranges:
        found = RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= MOST_PAGES:
            reader.error("pages", f"{part!r} is not a range. Expected ranges such as '1-3,5', up to page {MOST_PAGES}.")
    return ",".join(ranges)


def _metadata(reader: Reader) -> Metadata:
    given = reader.inside("metadata", list(Metadata.__dataclass_fields__))
    texts = {name: given.text(name, most=MOST_METADATA) for name in ("title", "author", "subject")}
    return Metadata(**texts, keywords=given.texts("keywords", most=MOST_METADATA, count=MOST_KEYWORDS))


def _fits(options: PageOptions, reader: Reader) -> None:
    width, height = options.size()
    margin = options.margin
    if width - margin.left - margin.right < LEAST_LEFT:
        reader.error("margin", f"left and right leave less than {LEAST_LEFT} mm of {width:g} mm.")
    if height - margin.top - margin.bottom < LEAST_LEFT:
        reader.error("margin", f"top and bottom leave less than {LEAST_LEFT} mm of {height:g} mm.")
    if options.header and margin.top < ROOM_FOR_A_LINE:
        reader.error("margin.top", f"a header needs {ROOM_FOR_A_LINE} mm; send a wider margin, or header null.")
    if options.footer and margin.bottom < ROOM_FOR_A_LINE:
        reader.error("margin.bottom", f"a footer needs {ROOM_FOR_A_LINE} mm; send a wider margin, or footer null.")
