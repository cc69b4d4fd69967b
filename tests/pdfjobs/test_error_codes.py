"""One table of error codes: verbs, guides and console agree with it."""

import re

import pytest

from pdfjobs import work
from pdfjobs.documents import definition
from pdfjobs.errors import ERRORS
from pdfjobs.models import PdfJob
from pdfjobs.states import ErrorCode
from tests.support.commands import ROOT
from tests.support.pdf_jobs import new_job


@pytest.mark.parametrize(
    ("guide", "row"),
    [
        ("pdf-integrators.md", r"\| `{code}` \|.*\| {retried} \|"),
        ("pdf-operators.md", r"\| `{code}`[^|]*\| {retried} \|"),
    ],
)
@pytest.mark.parametrize("code", ErrorCode)
def test_the_guides_list_every_code_with_its_retry_rule(code: ErrorCode, guide: str, row: str) -> None:
    text = (ROOT / "docs" / guide).read_text()

    assert re.search(row.format(code=code.value, retried="yes" if code.retryable else "no"), text)


def test_the_console_says_what_to_do_about_every_code() -> None:
    assert set(ERRORS) == set(ErrorCode)
    assert "manage.py browser" in ERRORS[ErrorCode.UNSUPPORTED_PLATFORM].advice


@pytest.mark.django_db
def test_a_document_with_too_much_html_is_too_large_and_no_broken_template(monkeypatch) -> None:
    monkeypatch.setattr(definition, "MOST_HTML", 1000)
    new_job()
    (job,) = PdfJob.objects.claim()

    work.process(job)

    job.refresh_from_db()
    assert (job.status, job.error_code, job.retry_count) == ("failed", "DOCUMENT_TOO_LARGE", 0)
