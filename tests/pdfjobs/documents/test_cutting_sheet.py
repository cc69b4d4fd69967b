"""A cutting sheet prints what was sent, and everything the schema accepts can be rendered."""

from typing import Any

import pytest

from pdfjobs.documents import document
from pdfjobs.documents.kinds.cutting_sheet import MOST_PARTS
from pdfjobs.rendering.renderer import MOST_HTML
from tests.support.pdf_jobs import errors_of

SHEET = document("cutting_sheet")


def with_part(**changes: Any) -> dict[str, Any]:
    material = SHEET.sample["materials"][0]
    part = {"name": "Yan dikme", "length": 2164, "width": 580, "quantity": 24}
    return {**SHEET.sample, "materials": [{**material, "parts": [{**part, **changes}]}]}


@pytest.mark.parametrize("one", [1, 1.0, "1", "1.0", "1.000"])
def test_one_edge_is_banded_however_one_is_written(one: Any) -> None:
    """The CSS classes that draw the band contain the number."""
    page = SHEET.html(with_part(long_edges=one, short_edges="2.0", quantity="3.0"))

    assert '<i class="edge long-1 short-2"></i>' in page
    assert page == SHEET.html(with_part(long_edges=1, short_edges=2, quantity=3))


def test_nothing_is_banded_by_less_than_nothing() -> None:
    assert '<i class="edge long-0 short-0"></i>' in SHEET.html(with_part(long_edges="-0", short_edges="0.0"))


def sheet_of(parts: int, text: str) -> dict[str, Any]:
    part = {**with_part()["materials"][0]["parts"][0], "name": text * 160, "note": text * 200}
    shares = [parts // 30] * 29 + [parts - parts // 30 * 29]
    materials = [{**with_part()["materials"][0], "parts": [part] * share} for share in shares]
    return {**SHEET.sample, "materials": materials}


def test_parts_are_limited_over_all_materials() -> None:
    assert errors_of(SHEET, sheet_of(MOST_PARTS, "a")) == []
    assert errors_of(SHEET, sheet_of(MOST_PARTS + 1, "a")) == [
        "materials: Expected a list of 1 to 100 objects, at most 1500 parts in all."
    ]


@pytest.mark.parametrize("text", ['"', "&", "\N{GRINNING FACE}"])
def test_as_many_parts_as_are_taken_with_the_longest_texts_are_not_too_large_to_render(text: str) -> None:
    assert len(SHEET.html(sheet_of(MOST_PARTS, text)).encode()) < MOST_HTML - 512 * 1024


def test_named_bands_are_drawn_counted_and_added_up_by_name() -> None:
    named = {"edge_up": "2mm", "edge_lo": "1mm", "edge_sx": "1mm"}
    page = with_part(length=1000, width=500, quantity=3, **named)
    shown = SHEET.shape(SHEET.model.read(page))

    assert shown["materials"][0]["totals"]["edges"] == "7,5 m"
    assert shown["bands"] == [{"name": "2mm", "length": "3,0 m"}, {"name": "1mm", "length": "4,5 m"}]
    assert [name["text"] for name in shown["materials"][0]["parts"][0]["panel"]["names"]] == ["2mm", "1mm", "1mm"]
    assert "<svg" in SHEET.html(page)


def test_a_drill_code_and_the_grain_of_a_part_are_printed() -> None:
    page = SHEET.html(with_part(drill_code="M8-Ø35", grain=2, long_edges=1))

    assert "<strong>M8-Ø35</strong>" in page
    assert '<i class="edge long-1 short-0">↕</i>' in page
