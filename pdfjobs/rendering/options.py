"""The page options that callers may send."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from kilit.api.input_model import NO_CONTROL_CHARS, Expected, InputModel, invalid

Paper = Literal["A3", "A4", "A5", "A6", "Letter", "Legal", "100x50"]
PAPERS: dict[Paper, tuple[float, float]] = {  # millimetres, upright
    "A3": (297.0, 420.0),
    "A4": (210.0, 297.0),
    "A5": (148.0, 210.0),
    "A6": (105.0, 148.0),
    "Letter": (215.9, 279.4),
    "Legal": (215.9, 355.6),
    "100x50": (50.0, 100.0),  # labels on a roll, which are printed in landscape
}
MOST_MARGIN = 60  # millimetres
LEAST_LEFT = 40  # millimetres between two margins
ROOM_FOR_A_LINE = 10  # millimetres that a header or footer needs
MOST_PAGES = 1_000
MOST_RANGES = 50
RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
PLACEHOLDERS = ("{page}", "{pages}", "{title}")


def _check_placeholders(line: str) -> str:
    for word in re.findall(r"\{\w*\}", line):
        if word not in PLACEHOLDERS:
            raise invalid(f"{word} is not a placeholder. Allowed: {', '.join(PLACEHOLDERS)}.")
    return line


def _check_ranges(text: str) -> str:
    pages = text.replace(" ", "")
    ranges = pages.split(",") if pages else []
    if len(ranges) > MOST_RANGES:
        raise invalid(f"At most {MOST_RANGES} ranges.")
    for part in ranges:
        found = RANGE.fullmatch(part)
        if not found or not 1 <= int(found[1]) <= int(found[2] or found[1]) <= MOST_PAGES:
            raise invalid(f"{part!r} is not a range. Expected ranges such as '1-3,5', up to page {MOST_PAGES}.")
    return pages


Millimetres = Annotated[
    float,
    Field(ge=0, le=MOST_MARGIN),
    BeforeValidator(lambda value: float(value) if isinstance(value, Decimal) else value),
    AfterValidator(lambda value: round(value, 1) + 0.0),  # the database has no negative zero
    Expected(f"a number from 0 to {MOST_MARGIN}"),
]
LinePart = Annotated[
    str, StringConstraints(max_length=120, pattern=NO_CONTROL_CHARS), AfterValidator(_check_placeholders)
]
MetadataText = Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL_CHARS)]
PageRanges = Annotated[str, StringConstraints(max_length=MOST_RANGES * 12), AfterValidator(_check_ranges)]


class Margin(InputModel):
    """Millimetres."""

    top: Millimetres = 16.0
    right: Millimetres = 16.0
    bottom: Millimetres = 18.0
    left: Millimetres = 16.0


class HeaderFooter(InputModel):
    """Texts; {page}, {pages} and {title} are replaced."""

    left: LinePart = ""
    center: LinePart = ""
    right: LinePart = ""


class Metadata(InputModel):
    """The PDF's metadata; without a title the document's own is used."""

    title: MetadataText = ""
    author: MetadataText = ""
    subject: MetadataText = ""
    keywords: Annotated[list[MetadataText], Field(max_length=30)] = []


class PageOptions(InputModel):
    paper: Paper = "A4"
    landscape: bool = False
    margin: Margin = Margin()
    pages: PageRanges = Field(default="", description="Ranges such as `1-3,5`; empty means all.", examples=["1-3,5"])
    header: HeaderFooter | None = None
    footer: HeaderFooter | None = HeaderFooter(right="{page} / {pages}")
    tagged: bool = False
    metadata: Metadata = Metadata()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        (width, height), margin = self.size(), self.margin
        errors: list[tuple[tuple[str, ...], str]] = []
        if width - margin.left - margin.right < LEAST_LEFT:
            errors.append((("margin",), f"Left and right leave less than {LEAST_LEFT} mm of {width:g} mm."))
        if height - margin.top - margin.bottom < LEAST_LEFT:
            errors.append((("margin",), f"Top and bottom leave less than {LEAST_LEFT} mm of {height:g} mm."))
        for line, edge in (("header", "top"), ("footer", "bottom")):
            if getattr(self, line) and getattr(margin, edge) < ROOM_FOR_A_LINE:
                text = f"A {line} needs {ROOM_FOR_A_LINE} mm; send a wider margin, or {line} null."
                errors.append((("margin", edge), text))
        if errors:
            found = [InitErrorDetails(type=invalid(text), loc=path, input=margin) for path, text in errors]
            raise ValidationError.from_exception_data("PageOptions", found)
        return self

    def canonical(self) -> dict[str, Any]:
        """Return all page options including defaults, as JSON; reading them gives the same options."""
        return self.model_dump(mode="json", include=set(PageOptions.model_fields))

    def size(self) -> tuple[float, float]:
        """Return the width and height of the page in millimetres."""
        width, height = PAPERS[self.paper]
        return (height, width) if self.landscape else (width, height)
