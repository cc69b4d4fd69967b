"""Turns options into CSS and into what Chromium's printing understands.

Header and footer are margin boxes in the page's own style: the templates that Chromium offers for them are pages of
their own, which cost as much as the document and know nothing of its policy.
"""

import re
from html import unescape
from typing import Any

from pdfjobs.rendering.options import MOST_PAGES, Line, PageOptions

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; form-action 'none'"
)
# A second doctype and html tag are read as attributes of the first, so any page can follow this.
HEAD = (
    '<!doctype html><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>'
)
BOX = "@{place} {{ content: {content}; font: 8pt Inter, 'DejaVu Sans'; color: #6b7280; white-space: {wrap} }}"
INCHES = 3.78 / 96  # a millimetre as Playwright reckons it: a rounder number would give other bytes than ever before
SHORT = 24  # characters; a page number does not wrap when its neighbour is long
PLACEHOLDER = re.compile(r"(\{(?:page|pages|title)\})")
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


def head(html: str, options: PageOptions) -> str:
    """Return what goes before the page: a policy that allows its own styles and images in it, and nothing else."""
    return HEAD.format(policy=POLICY, style=_style(options, _title(html, options)))


def layout(options: PageOptions) -> dict[str, Any]:
    width, height = options.size()
    margin = options.margin
    return {
        "paperWidth": width * INCHES,
        "paperHeight": height * INCHES,
        "marginTop": margin.top * INCHES,
        "marginRight": margin.right * INCHES,
        "marginBottom": margin.bottom * INCHES,
        "marginLeft": margin.left * INCHES,
        # One page more than is allowed: enough to notice.
        "pageRanges": options.pages or f"1-{MOST_PAGES + 1}",
        "landscape": False,  # width and height say so already
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
    margin = options.margin
    boxes = [*_boxes("top", options.header, title), *_boxes("bottom", options.footer, title)]
    sides = f"{margin.top:g}mm {margin.right:g}mm {margin.bottom:g}mm {margin.left:g}mm"
    return f"@page {{ margin: {sides}; {' '.join(boxes)} }}"


def _boxes(edge: str, line: Line | None, title: str) -> list[str]:
    texts = {"left": line.left, "center": line.center, "right": line.right} if line else {}
    return [
        BOX.format(
            place=f"{edge}-{side}", content=_content(text, title), wrap="nowrap" if len(text) <= SHORT else "normal"
        )
        for side, text in texts.items()
        if text
    ]


def _content(text: str, title: str) -> str:
    filled = {"{page}": "counter(page)", "{pages}": "counter(pages)", "{title}": _string(title)}
    return " ".join(filled.get(part) or _string(part) for part in PLACEHOLDER.split(text) if part)


def _string(text: str) -> str:
    """Write a CSS string in which every character but letters and digits is a number: nothing in it can end it."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in text) + '"'
