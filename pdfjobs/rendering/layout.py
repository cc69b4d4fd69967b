"""Turns page options into CSS and into arguments of Chromium's `Page.printToPDF`.

Header and footer are CSS margin boxes. Chromium's own header templates are separate pages, which cost as much as the
document and ignore its content security policy.
"""

import re
from html import unescape
from typing import Any

from pdfjobs.rendering.options import MOST_PAGES, HeaderFooter, PageOptions

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


def head(html: str, options: PageOptions) -> str:
    """Return what is put before the document: a policy that allows only its own styles and embedded images."""
    return HEAD.format(policy=POLICY, style=_style(options, _title(html, options)))


def layout(options: PageOptions) -> dict[str, Any]:
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


def _title(html: str, options: PageOptions) -> str:
    found = TITLE.search(html)
    return options.metadata.title or (" ".join(unescape(found[1]).split()) if found else "")


def _style(options: PageOptions, title: str) -> str:
    boxes = [*_boxes("top", options.header, title), *_boxes("bottom", options.footer, title)]
    sides = " ".join(f"{millimetres:g}mm" for _, millimetres in options.margin)
    return f"@page {{ margin: {sides}; {' '.join(boxes)} }}"


def _boxes(edge: str, line: HeaderFooter | None, title: str) -> list[str]:
    return [_box(f"{edge}-{side}", text, title) for side, text in line or () if text]


def _box(place: str, text: str, title: str) -> str:
    wrap = "nowrap" if len(text) <= NO_WRAP_LENGTH else "normal"
    return BOX.format(place=place, content=_content(text, title), wrap=wrap)


def _content(text: str, title: str) -> str:
    filled = {"{page}": "counter(page)", "{pages}": "counter(pages)", "{title}": _string(title)}
    return " ".join(filled.get(part) or _string(part) for part in PLACEHOLDER.split(text) if part)


def _string(text: str) -> str:
    """Return a CSS string with everything but letters and digits escaped, so that nothing can end it."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in text) + '"'
