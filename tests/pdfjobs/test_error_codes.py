"""One table of error codes: verbs, guides and console agree with it."""

import re

import pytest

from pdfjobs.errors import ERRORS
from pdfjobs.states import ErrorCode
from tests.support.commands import ROOT


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
