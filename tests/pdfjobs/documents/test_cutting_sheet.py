"""What a saw reads off a cutting sheet is what was sent, and whatever the schema takes can be made."""

from typing import Any

import pytest

from pdfjobs.documents import document

SHEET = document("cutting_sheet")


def with_part(**changes: Any) -> dict[str, Any]:
    material = SHEET.sample["materials"][0]
    return {**SHEET.sample, "materials": [{**material, "parts": [{**material["parts"][0], **changes}]}]}


@pytest.mark.parametrize("one", [1, 1.0, "1", "1.0", "1.000"])
def test_one_edge_is_banded_however_one_is_written(one: Any) -> None:
    """The styles that draw the band are named by the number."""
    page = SHEET.html(with_part(long_edges=one, short_edges="2.0", quantity="3.0"))

    assert '<i class="edge long-1 short-2"></i>' in page
    assert page == SHEET.html(with_part(long_edges=1, short_edges=2, quantity=3))


def test_nothing_is_banded_by_less_than_nothing() -> None:
    assert '<i class="edge long-0 short-0"></i>' in SHEET.html(with_part(long_edges="-0", short_edges="0.0"))
