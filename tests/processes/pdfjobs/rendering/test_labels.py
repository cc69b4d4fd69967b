"""Labels in a real browser, read back from the page as a scanner and a person would."""

import re
from collections.abc import Callable
from io import BytesIO

import pytest
from pypdf import PdfReader

from pdfjobs.documents import document
from pdfjobs.documents.kinds.labels import AT_ONCE, FORMATS
from pdfjobs.job_request import parse_job_request
from pdfjobs.rendering import RenderError
from pdfjobs.rendering.join import join
from pdfjobs.rendering.stamp import page_count
from tests.support.pdf_jobs import body
from tests.support.printed_labels import codes_on

LABELS = document("labels")
SAMPLE = LABELS.sample


@pytest.mark.parametrize("label_format", FORMATS)
@pytest.mark.by_day(2)
def test_every_label_is_on_its_place_and_its_code_is_read_back(to_pdf: Callable[..., bytes], label_format: str) -> None:
    """As many labels as there are, each with the codes and texts that were sent."""
    odd = {"part": "ğ-ışık/ö 7", "note": "İĞÜŞÖÇ ığüşöç"}
    labels = [*SAMPLE["labels"], SAMPLE["labels"][0] | odd]
    variables = SAMPLE | {"format": label_format, "labels": labels}
    request = parse_job_request(body("labels", variables=variables))
    html, options = LABELS.html(request.variables), request.options.canonical()

    pdf = to_pdf(html, **options)

    reader = PdfReader(BytesIO(pdf))
    per_page = FORMATS[label_format].per_page
    assert len(reader.pages) == -(-len(labels) // per_page)
    assert sorted(codes_on(pdf)) == sorted(f"{SAMPLE['job']}/{label['part']}/{label['piece']}" for label in labels)
    text = " ".join("".join(page.extract_text() for page in reader.pages).split())
    assert "İĞÜŞÖÇ ığüşöç" in text
    assert "Gümüşçınar Mobilya San. ve Tic. Ltd. Şti." in text or label_format == "70x37"
    assert "420 × 180,25" in text
    assert to_pdf(html, **options) == pdf


@pytest.mark.nightly  # it has more than two hundred labels
def test_a_long_document_is_one_pdf_with_each_label_once_and_in_order(to_pdf: Callable[..., bytes]) -> None:
    """Printed in two parts: its pages, codes, fonts and dates are those of one document."""
    labels = [SAMPLE["labels"][0] | {"part": f"p{number}"} for number in range(1, AT_ONCE + 25)]
    variables = SAMPLE | {"format": "70x37", "labels": labels}
    request = parse_job_request(body("labels", variables=variables))
    pages, options = list(LABELS.pages(request.variables)), request.options.canonical()

    pdf = to_pdf(*pages, **options)

    reader = PdfReader(BytesIO(pdf), strict=True)
    assert len(pages) == 2
    assert len(reader.pages) == page_count(pdf) == len(labels) // 24
    assert [re.findall(r"p\d+", page.extract_text())[0] for page in reader.pages] == [
        f"p{number}" for number in range(1, len(labels), 24)
    ]
    assert sorted(codes_on(pdf)) == sorted(f"{SAMPLE['job']}/{label['part']}/{label['piece']}" for label in labels)
    assert reader.metadata
    assert (reader.metadata.title, reader.metadata.creator) == (f"Etiketler {SAMPLE['order_number']}", "Kilit")
    assert to_pdf(*pages, **options) == pdf


def test_texts_and_streams_that_look_like_references_stay_as_they_are(to_pdf: Callable[..., bytes]) -> None:
    """Each part has a link, whose address is a text in the PDF."""
    links = [f'<title>t</title><a href="https://example.com/?q=(7 0 R)+{name}">7 0 R {name}</a>' for name in "abc"]

    reader = PdfReader(BytesIO(to_pdf(*links, footer=None)), strict=True)

    assert [page.extract_text().split("\n")[0] for page in reader.pages] == ["7 0 R a", "7 0 R b", "7 0 R c"]
    addresses = [page["/Annots"][0].get_object()["/A"]["/URI"] for page in reader.pages]
    assert [address[-1] for address in addresses] == ["a", "b", "c"]
    assert all("7" in address and "0" in address for address in addresses)


def test_a_part_in_an_unknown_format_is_an_error_and_no_file(to_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(RenderError, match="it cannot be joined"):
        join([to_pdf(), b"%PDF-1.7"])
