"""Each page option, read back from the PDF, and the limits of a page."""

from collections.abc import Callable
from typing import Any

import pypdfium2
import pytest
from pypdf import PdfReader

from pdfjobs.rendering import RenderError, renderer
from pdfjobs.rendering.options import PAPERS
from tests.support.rendering import PAGE

POINTS = 72 / 25.4  # a millimetre
FOUR = "".join(f'<h2 style="break-after: page">Sayfa {number}</h2>' for number in "ABCD")


def size(reader: PdfReader) -> tuple[float, float]:
    box = reader.pages[0].mediabox
    return float(box.width), float(box.height)


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("landscape", [False, True])
def test_paper_and_orientation(to_reader: Callable[..., PdfReader], paper: str, landscape) -> None:
    width, height = sorted(PAPERS[paper], reverse=landscape)

    margin = dict.fromkeys(("top", "right", "bottom", "left"), 0)
    found = size(to_reader(paper=paper, landscape=landscape, margin=margin, footer=None))

    assert found == (pytest.approx(width * POINTS, abs=1), pytest.approx(height * POINTS, abs=1))


def test_margins(to_pdf: Callable[..., bytes]) -> None:
    block = '<div style="background: #000; height: 900mm"></div><style>body { margin: 0 }</style>'
    margin = {"top": 30, "right": 20, "bottom": 12, "left": 40}

    page = pypdfium2.PdfDocument(to_pdf(block, margin=margin, footer=None))[0].render(scale=25.4 / 72 * 2)
    dark = [
        (x / 2, y / 2)
        for y in range(page.height)
        for x in range(page.width)
        if page.buffer[y * page.stride + x * page.n_channels] < 128
    ]

    left, right = min(x for x, _ in dark), max(x for x, _ in dark)
    top, bottom = min(y for _, y in dark), max(y for _, y in dark)
    assert (left, top) == (pytest.approx(40, abs=1.5), pytest.approx(30, abs=1.5))
    assert (210 - right, 297 - bottom) == (pytest.approx(20, abs=1.5), pytest.approx(12, abs=1.5))


def test_page_ranges(to_reader: Callable[..., PdfReader]) -> None:
    pages = to_reader(FOUR, pages="2-3, 4", footer=None).pages

    assert [page.extract_text().strip() for page in pages] == ["Sayfa B", "Sayfa C", "Sayfa D"]


def test_missing_pages_are_reported(to_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(RenderError) as fault:
        to_pdf(pages="7")

    assert fault.value.code == "PAGES_MISSING"


def test_header_and_footer_with_page_numbers(to_reader: Callable[..., PdfReader]) -> None:
    header = {"left": "Gümüşçınar </style><b>'\"\\A.Ş.", "center": "{title}", "right": "{pages}"}

    pages = to_reader(f"<title>Liste &amp; ek</title>{FOUR}", header=header, footer={"center": "s. {page}"}).pages

    texts = [page.extract_text() for page in pages]
    assert len(texts) == 4
    assert all("Gümüşçınar </style><b>'\"\\A.Ş." in text and "Liste & ek" in text for text in texts)
    assert [f"s. {number}" in text for number, text in enumerate(texts, start=1)] == [True] * 4


def test_by_default_the_footer_tells_the_page_and_none_can_be_asked_for(to_reader: Callable[..., PdfReader]) -> None:
    assert "2 / 4" in to_reader(FOUR).pages[1].extract_text()
    assert to_reader(FOUR, footer=None).pages[1].extract_text().strip() == "Sayfa B"


def test_the_title_in_a_header_may_look_like_a_placeholder(to_reader: Callable[..., PdfReader]) -> None:
    text = to_reader(header={"left": "{title}"}, metadata={"title": "{page}"}).pages[0].extract_text()

    assert "{page}" in text


@pytest.mark.parametrize("tagged", [False, True])
def test_tagged_output(to_reader: Callable[..., PdfReader], tagged) -> None:
    root: Any = to_reader(tagged=tagged).trailer["/Root"]

    assert ("/StructTreeRoot" in root) is tagged
    assert root.get("/Lang") == ("tr" if tagged else None)


def test_a_tagged_document_maps_the_types_that_older_readers_do_not_know(to_reader: Callable[..., PdfReader]) -> None:
    page = PAGE.replace("<h1>", "<p><strong>Ege</strong> <em>12,00</em></p><h1>")
    roots: Any = [to_reader(html, tagged=True).trailer["/Root"]["/StructTreeRoot"] for html in (page, PAGE)]

    assert [root.get("/RoleMap") for root in roots] == [{"/Em": "/Span", "/Strong": "/Span"}, None]


def test_a_page_is_laid_out_by_the_standard_not_by_quirks(to_reader: Callable[..., PdfReader]) -> None:
    # In quirks mode a class matches in any case.
    page = "<!doctype html><html><style>.HIDDEN { display: none }</style><p class=hidden>seen</p></html>"

    assert "seen" in to_reader(page).pages[0].extract_text()


def test_too_much_html_is_refused_before_the_browser_sees_it(to_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(RenderError) as fault:
        to_pdf("x" * (renderer.MOST_HTML + 1))

    assert fault.value.code == "DOCUMENT_TOO_LARGE"


def test_too_many_pages_are_refused(to_pdf: Callable[..., bytes], monkeypatch) -> None:
    monkeypatch.setattr(renderer, "MOST_PAGES", 3)

    with pytest.raises(RenderError) as fault:
        to_pdf(FOUR)

    assert fault.value.code == "DOCUMENT_TOO_LARGE"
    assert "pages" in fault.value.detail
