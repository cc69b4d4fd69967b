"""The focus is seen: one ring, around what has it."""

import pytest

from tests.support.browsing import open_page

RINGS = """() => {
  const rings = [];
  for (let one = document.activeElement; one && one !== document.body; one = one.parentElement) {
    const style = getComputedStyle(one);
    const isSeen = !/rgba\\(.*, 0\\)|transparent/.test(style.outlineColor);
    if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && isSeen) rings.push(one.tagName);
  }
  const focused = document.activeElement;
  return focused === document.body ? null : [focused.outerHTML.slice(0, 120), rings.length];
}"""


@pytest.mark.parametrize("address", ["/admin/ociqueue/conversion/", "/admin/access/apikey/add/"])
@pytest.mark.by_day(1)
def test_what_has_the_focus_has_one_ring(visitor, house, address) -> None:
    page = open_page(visitor.enter("demo-owner"), address)
    page.locator("#content").focus()
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(RINGS))

    assert any("input" in found[0] for found in seen if found)
    assert [found for found in seen if found and found[1] != 1] == []
