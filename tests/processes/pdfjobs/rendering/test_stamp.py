"""Dates and metadata of a PDF are the job's."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from pdfjobs.rendering import RenderError
from pdfjobs.rendering.options import Metadata
from pdfjobs.rendering.stamp import page_count, stamp

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
NOON = datetime(2026, 7, 1, 12, 0, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def plain() -> bytes:
    """A PDF as Chromium writes it, in small."""
    info = b"/Title (Eski \\) ba\\(sl\\\\)\n/Creator (Chromium)\n/Producer (Skia/PDF m1)\n"
    info += b"/CreationDate (D:20200101000000+00'00')\n/ModDate (D:20200101000000+00'00')"
    objects = [
        b"1 0 obj\n<<" + info + b">>\nendobj\n",
        b"2 0 obj\n<</Type /Pages\n/Kids [3 0 R]\n/Count 1>>\nendobj\n",
        b"3 0 obj\n<</Type /Page\n/MediaBox [0 0 9 9]\n/Parent 2 0 R>>\nendobj\n",
        b"4 0 obj\n<</Type /Catalog\n/Pages 2 0 R>>\nendobj\n",
    ]
    pdf, offsets = b"%PDF-1.4\n%\xd3\xeb\xe9\xe1\n", []
    for written in objects:
        offsets.append(len(pdf))
        pdf += written
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return pdf + table + b"trailer\n<</Size 5\n/Root 4 0 R\n/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(pdf)


@given(title=WORDS, author=WORDS, subject=WORDS, keywords=st.lists(WORDS, max_size=3))
def test_any_metadata_reads_back_as_it_was_given(plain: bytes, title, author, subject, keywords) -> None:
    info = Metadata(title=title, author=author, subject=subject, keywords=keywords)

    read = PdfReader(BytesIO(stamp(plain, info, made_at=NOON)), strict=True)

    assert read.metadata
    assert read.metadata.title == (title or "Eski ) ba(sl\\")
    assert (read.metadata.author or "", read.metadata.subject or "") == (author, subject)
    assert read.metadata.get("/Keywords", "") == ", ".join(keywords)
    assert read.metadata.creation_date == read.metadata.modification_date == NOON
    assert len(read.pages) == page_count(plain) == 1


def test_the_date_is_the_same_wherever_the_job_was_made(plain: bytes) -> None:
    ankara = NOON.astimezone(timezone(timedelta(hours=3)))

    assert stamp(plain, Metadata(), made_at=ankara) == stamp(plain, Metadata(), made_at=NOON)


@pytest.mark.parametrize("broken", [b"", b"%PDF-1.4\n", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref\n9\n%%EOF\n"])
def test_a_pdf_in_another_format_is_refused_rather_than_left_undated(broken: bytes) -> None:
    with pytest.raises(RenderError, match="unknown format"):
        stamp(broken, Metadata(), made_at=NOON)


def test_metadata_of_a_real_page_reads_back(to_reader: Callable[..., PdfReader]) -> None:
    """Metadata."""
    info = {"title": "Teklif (1) ğ", "author": "Ayşe", "subject": "<b>", "keywords": ["raf", "masa"]}

    read = to_reader(metadata=info).metadata

    assert read
    assert (read.title, read.author, read.subject) == ("Teklif (1) ğ", "Ayşe", "<b>")
    assert read["/Keywords"] == "raf, masa"


def test_without_a_title_it_is_the_documents_own(to_reader: Callable[..., PdfReader]) -> None:
    read = to_reader().metadata

    assert read
    assert read.title == "Örnek"
