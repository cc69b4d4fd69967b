"""Replaces the metadata and dates that Chromium writes by those of the job, so that equal jobs give equal bytes.

Chromium writes the information dictionary first and a plain cross-reference table, so replacing the one and shifting
the offsets in the other needs no PDF library. In the same way a tagged document gets a map of the types in it.
"""

import re
from datetime import UTC, datetime

from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.options import Metadata
from pdfjobs.states import ErrorCode

INFORMATION = re.compile(rb"1 0 obj\n<<(.*?)>>\nendobj\n", re.DOTALL)
TITLE = re.compile(rb"/Title (<[0-9A-F]*>|\((?:[^()\\]|\\.)*\))", re.DOTALL)
PRODUCER = re.compile(rb"/Producer \([^()\\]*\)")
TABLE = re.compile(
    rb"xref\n0 (\d+)\n((?:\d{10} \d{5} [nf] \n)+)trailer\n<<[^<>]*/Info 1 0 R[^<>]*>>\nstartxref\n(\d+)\n%%EOF\n"
)
ENTRY = re.compile(rb"(\d{10}) (\d{5}) n ")
PAGES = re.compile(rb"<</Type /Pages\n.{0,20000}?/Count (\d+)", re.DOTALL)
ENTRY_LENGTH = 20  # bytes
ROOT = re.compile(rb"/Root (\d+) 0 R")
CATALOG = re.compile(rb"\d+ 0 obj\n<</Type /Catalog\n")
STRUCTURE_REFERENCE = re.compile(rb"/StructTreeRoot (\d+) 0 R")
STRUCTURE = re.compile(rb"\d+ 0 obj\n<</Type /StructTreeRoot\n")
# Chromium uses two types of PDF 2.0 in a file of version 1.4. Readers leave out what has a type that they do not know,
# so these types are mapped to one that every reader knows.
NEW_TYPE = re.compile(rb"\n/S /(?:Em|Strong)\n")
ROLE_MAP = b"/RoleMap <</Em /Span\n/Strong /Span>>\n"
HEADER_LENGTH = 64  # bytes within which the first object starts


def stamp(pdf: bytes, metadata: Metadata, *, made_at: datetime) -> bytes:
    info = INFORMATION.search(pdf, 0, HEADER_LENGTH + 100_000)
    table = TABLE.search(pdf, max(pdf.rfind(b"\nxref\n"), 0))
    if not info or not table or info.start() > HEADER_LENGTH or int(table[3]) != table.start():
        raise RenderError(ErrorCode.UNKNOWN, "Chromium wrote a PDF in an unknown format; its dates cannot be set.")
    information = b"1 0 obj\n<<" + _information(info[1], metadata, made_at) + b">>\nendobj\n"
    root = _structure_root(pdf, table)
    inserted = ROLE_MAP if root and NEW_TYPE.search(pdf) else b""
    roles_at = root or info.end()

    def moved(offset: int) -> int:
        by = len(information) - len(info[0]) if offset > info.start() else 0
        return offset + by + (len(inserted) if offset > roles_at else 0)

    return b"".join(
        [
            pdf[: info.start()],
            information,
            pdf[info.end() : roles_at],
            inserted,
            pdf[roles_at : table.start(2)],
            ENTRY.sub(lambda entry: b"%010d %s n " % (moved(int(entry[1])), entry[2]), table[2]),
            pdf[table.end(2) : table.start(3)],
            b"%d\n%%%%EOF\n" % moved(int(table[3])),
        ]
    )


def _structure_root(pdf: bytes, table: re.Match[bytes]) -> int | None:
    catalog = _begin(pdf, table, ROOT.search(table[0]), CATALOG)
    if catalog is None:
        return None
    reference = STRUCTURE_REFERENCE.search(pdf, catalog, pdf.find(b"\nendobj", catalog))
    return _begin(pdf, table, reference, STRUCTURE)


def _begin(
    pdf: bytes, table: re.Match[bytes], reference: re.Match[bytes] | None, start: re.Pattern[bytes]
) -> int | None:
    """Return where the entries of an object begin, by the table: in the file a text may look like the object."""
    if reference is None:
        return None
    entry = int(reference[1]) * ENTRY_LENGTH
    match = start.match(pdf, int(table[2][entry : entry + 10]))
    return match.end() if match else None


def page_count(pdf: bytes) -> int:
    """Return the number of pages; the root of the page tree has the highest count."""
    return max((int(count) for count in PAGES.findall(pdf)), default=0)


def _information(original: bytes, metadata: Metadata, made_at: datetime) -> bytes:
    title, producer = TITLE.search(original), PRODUCER.search(original)
    date = made_at.astimezone(UTC).strftime("(D:%Y%m%d%H%M%S+00'00')").encode()
    texts = {**dict(metadata), "keywords": ", ".join(metadata.keywords)}
    entries = [
        title[0] if title and not metadata.title else b"",
        *(b"/%s %s" % (name.title().encode(), _text(text)) for name, text in texts.items() if text),
        b"/Creator (Kilit)",
        producer[0] if producer else b"",
        b"/CreationDate " + date,
        b"/ModDate " + date,
    ]
    return b"\n".join(entry for entry in entries if entry)


def _text(text: str) -> bytes:
    """Return a PDF string in hexadecimal UTF-16, so that nothing can end it."""
    return b"<FEFF" + text.encode("utf-16-be").hex().upper().encode() + b">"
