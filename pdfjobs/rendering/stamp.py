"""Replaces the metadata and dates that Chromium writes by those of the job, so that equal jobs give equal bytes.

Chromium writes the information dictionary first and a plain cross-reference table, so replacing the one and shifting
the offsets in the other needs no PDF library.
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
HEADER_LENGTH = 64  # bytes within which the first object starts


def stamp(pdf: bytes, metadata: Metadata, *, made_at: datetime) -> bytes:
    info = INFORMATION.search(pdf, 0, HEADER_LENGTH + 100_000)
    table = TABLE.search(pdf, max(pdf.rfind(b"\nxref\n"), 0))
    if not info or not table or info.start() > HEADER_LENGTH or int(table[3]) != table.start():
        raise RenderError(ErrorCode.UNKNOWN, "Chromium wrote a PDF in an unknown format; its dates cannot be set.")
    information = b"1 0 obj\n<<" + _information(info[1], metadata, made_at) + b">>\nendobj\n"
    moved_by = len(information) - len(info[0])

    def moved(entry: re.Match[bytes]) -> bytes:
        offset = int(entry[1])
        return b"%010d %s n " % (offset + moved_by if offset > info.start() else offset, entry[2])

    return b"".join(
        [
            pdf[: info.start()],
            information,
            pdf[info.end() : table.start(2)],
            ENTRY.sub(moved, table[2]),
            pdf[table.end(2) : table.start(3)],
            b"%d\n%%%%EOF\n" % (int(table[3]) + moved_by),
        ]
    )


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
