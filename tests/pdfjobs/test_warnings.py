"""Callers learn which characters of a document cannot be printed."""

from typing import Any

import pytest
from fontTools.ttLib import TTFont

from pdfjobs.models import PdfJob
from pdfjobs.rendering import fonts
from pdfjobs.rendering.fonts import font_files
from pdfjobs.warnings import warnings_of
from tests.support.pdf_jobs import body


@pytest.mark.parametrize("path", font_files(), ids=lambda path: path.stem)
def test_the_characters_of_a_font_are_those_that_a_font_library_finds(path) -> None:
    found = {code for codes in fonts.codes_of(path.read_bytes()) for code in codes}

    assert found == set(TTFont(path).getBestCmap())


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Çağrı Şirketi İÇ ıŞ, ₺12,00 “€” – ✔\ufe0f\t\u200b\n", ""),
        ("e\u0301", ""),  # one letter, in two codes
        ("漢字, 漢", "字漢"),
        ("👩\u200d👧", "👧👩"),  # the joiner is no character of its own
    ],
)
def test_characters_that_no_font_has_are_found(text: str, missing: str) -> None:
    assert fonts.unprintable(text) == missing


@pytest.mark.parametrize("content", [b"", b"\0\1\0\0\0\1", b"ttcf\0\1\0\0\xff\xff\xff\xff"])
def test_a_broken_font_has_no_characters(content: bytes) -> None:
    assert list(fonts.codes_of(content)) == []


def test_texts_anywhere_in_the_document_are_looked_at_and_not_all_are_named() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E50)))
    job = PdfJob(payload={"lines": [{"text": many[:40]}], "名": "x"}, options={"footer": many[40:], "title": "名"})

    (warning,) = warnings_of(job)

    assert warning["characters"] == many[:50]
    assert warning["message"].endswith("50 of 80 are named.")


@pytest.mark.django_db
@pytest.mark.usefixtures("worker_lives")
def test_a_job_has_warnings_as_long_as_it_has_its_variables(api) -> None:
    request: dict[str, Any] = body()
    request["variables"] = {**request["variables"], "number": "漢-1"}

    made = api.post(request).json()

    (warning,) = made["warnings"]
    assert (warning["code"], warning["characters"]) == ("MISSING_CHARACTERS", "漢")
    assert api.get(made["job_id"]).json()["warnings"] == made["warnings"]
    assert "warnings" not in api.delete(made["job_id"]).json()
    assert "warnings" not in api.get(made["job_id"]).json()
