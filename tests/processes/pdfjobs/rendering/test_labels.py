"""Labels in a real browser, read back from the page as a scanner and a person would."""

from collections.abc import Callable
from io import BytesIO

import pytest
from pypdf import PdfReader

from pdfjobs.documents import document
from pdfjobs.documents.kinds.labels import FORMATS
from pdfjobs.job_request import parse_job_request
from tests.support.pdf_jobs import body
from tests.support.printed_labels import codes_on

LABELS = document("labels")
SAMPLE = LABELS.sample


@pytest.mark.parametrize("label_format", FORMATS)
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
