"""The page options that callers may send, as CSS and as arguments of Chromium's `Page.printToPDF`.

Header and footer are CSS margin boxes. Chromium's own header templates are separate pages, which cost as much as the
document and ignore its content security policy.
"""

import re
from decimal import Decimal
from html import unescape
from typing import Annotated, Literal, Self

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
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; form-action 'none'"
)
# A browser ignores a second doctype and merges a second html tag, so any document can follow this.
HEAD = (
    '<!doctype html><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>'
)
BOX = "@{place} {{ content: {content}; font: 8pt Inter, 'DejaVu Sans'; color: #6b7280; white-space: {wrap} }}"
INCHES = 3.78 / 96  # a millimetre in inches as Playwright computes it; another rounding would change the bytes
NO_WRAP_LENGTH = 24  # characters; so that a page number does not wrap next to a long text
PLACEHOLDER = re.compile(r"(\{(?:page|pages|title)\})")
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


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
        match = RANGE.fullmatch(part)
        if not match or not 1 <= int(match[1]) <= int(match[2] or match[1]) <= MOST_PAGES:
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
            details = [InitErrorDetails(type=invalid(text), loc=path, input=margin) for path, text in errors]
            raise ValidationError.from_exception_data("PageOptions", details)
        return self

    def canonical(self) -> dict[str, object]:
        return self.model_dump(mode="json", include=set(PageOptions.model_fields))

    def size(self) -> tuple[float, float]:
        width, height = PAPERS[self.paper]
        return (height, width) if self.landscape else (width, height)


def head(html: str, options: PageOptions) -> str:
    """Return what is put before the document: a policy that allows only its own styles and embedded images."""
    match = TITLE.search(html)
    title = options.metadata.title or (" ".join(unescape(match[1]).split()) if match else "")
    lines = (("top", options.header), ("bottom", options.footer))
    boxes = [_box(f"{edge}-{side}", text, title) for edge, line in lines for side, text in line or () if text]
    sides = " ".join(f"{millimetres:g}mm" for _, millimetres in options.margin)
    return HEAD.format(policy=POLICY, style=f"@page {{ margin: {sides}; {' '.join(boxes)} }}")


def layout(options: PageOptions) -> dict[str, object]:
    width, height = options.size()
    return {
        "paperWidth": width * INCHES,
        "paperHeight": height * INCHES,
        **{f"margin{side.title()}": millimetres * INCHES for side, millimetres in options.margin},
        # One page more than allowed, to detect longer documents.
        "pageRanges": options.pages or f"1-{MOST_PAGES + 1}",
        "landscape": False,  # width and height are swapped already
        "displayHeaderFooter": False,
        "printBackground": True,
        "preferCSSPageSize": False,
        "scale": 1,
        "generateTaggedPDF": options.tagged,
        "generateDocumentOutline": False,
        "transferMode": "ReturnAsBase64",
    }


def _box(place: str, text: str, title: str) -> str:
    wrap = "nowrap" if len(text) <= NO_WRAP_LENGTH else "normal"
    return BOX.format(place=place, content=_content(text, title), wrap=wrap)


def _content(text: str, title: str) -> str:
    filled = {"{page}": "counter(page)", "{pages}": "counter(pages)", "{title}": _string(title)}
    return " ".join(filled.get(part) or _string(part) for part in PLACEHOLDER.split(text) if part)


def _string(text: str) -> str:
    """Return a CSS string with everything but letters and digits escaped, so that nothing can end it."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in text) + '"'
