"""Joins the parts of a long document, which are printed one after the other so that the browser needs little memory.

Chromium writes plain objects and a plain cross-reference table, so giving the objects new numbers, and the pages of all
parts one root, needs no PDF library.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import count, pairwise

from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.stamp import ROOT, TABLE, page_count
from pdfjobs.states import ErrorCode

INFORMATION = 1  # the number of this object
ENTRY = re.compile(rb"(\d{10}) \d{5} ([nf]) \n")
PAGES_OF_CATALOG = re.compile(rb"/Pages (\d+) 0 R")
# A text, the beginning of a stream, or a reference: a text may look like a reference, and a stream like anything.
TOKEN = re.compile(rb"\((?:[^()\\]|\\.)*\)|>>\s*stream\s|\b(\d+) 0 R\b", re.DOTALL)
BEGIN = b"%d 0 obj\n"
PAGES = b"<</Type /Pages\n"
TRAILER = b"trailer\n<</Size %d\n/Root %d 0 R\n/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"


class JoinedPart:
    """A PDF that is joined to others."""

    def __init__(self, pdf: bytes) -> None:
        table = TABLE.search(pdf, max(pdf.rfind(b"\nxref\n"), 0))
        root = ROOT.search(table[0]) if table else None
        if not table or not root:
            raise RenderError(ErrorCode.UNKNOWN, "Chromium wrote a PDF in an unknown format; it cannot be joined.")
        self.pdf, self.catalog = pdf, int(root[1])
        entries = enumerate(ENTRY.findall(table[2]))
        places = sorted((int(offset), number) for number, (offset, kind) in entries if kind == b"n")
        # Objects by number, in the order of the file.
        self.objects = {
            number: slice(start + len(BEGIN % number), end)
            for (start, number), (end, _) in pairwise([*places, (table.start(), 0)])
        }
        self.head = pdf[: places[0][0]]
        self.pages = int(PAGES_OF_CATALOG.findall(pdf[self.objects[self.catalog]])[0])

    def object(self, number: int, numbers: Mapping[int, int], top: int) -> Iterator[bytes]:
        """Yield an object with the new numbers, below the root of all pages."""
        body = self.pdf[self.objects[number]]
        if number == self.catalog:
            numbers = {**numbers, self.pages: top}
        elif number == self.pages:
            numbers = {**numbers, top: top}
            body = body.replace(PAGES, PAGES + b"/Parent %d 0 R\n" % top, 1)
        yield BEGIN % numbers[number]
        end = 0
        for token in TOKEN.finditer(body):
            if token[0].startswith(b">>"):
                break
            if token[1]:
                yield body[end : token.start(1)] + b"%d" % numbers[int(token[1])]
                end = token.end(1)
        yield body[end:]


def join(pdfs: list[bytes]) -> bytes:
    """Return one PDF with the pages of all; its information and its catalog are the first one's."""
    if len(pdfs) == 1:
        return pdfs[0]
    first, *others = parts = [JoinedPart(pdf) for pdf in pdfs]
    for part in others:
        del part.objects[INFORMATION], part.objects[part.catalog]
    new = count(1)
    numbers = [{number: next(new) for number in part.objects} for part in parts]
    top = next(new)
    joined, offsets = bytearray(first.head), []
    for part, renamed in zip(parts, numbers, strict=True):
        for number in part.objects:
            offsets.append(len(joined))
            joined += b"".join(part.object(number, renamed, top))
    offsets.append(len(joined))
    kids = b" ".join(b"%d 0 R" % renamed[part.pages] for part, renamed in zip(parts, numbers, strict=True))
    joined += BEGIN % top + PAGES + b"/Count %d\n/Kids [%s]>>\nendobj\n" % (sum(map(page_count, pdfs)), kids)
    table = len(joined)
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    joined += b"xref\n0 %d\n0000000000 65535 f \n%s" % (top + 1, entries)
    return bytes(joined + TRAILER % (top + 1, numbers[0][first.catalog], table))
