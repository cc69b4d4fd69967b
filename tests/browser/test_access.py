"""Everybody can use the console: contrast, names, widths, in light and dark (CON-11)."""

import pytest

from tests.browser.browsing import CONTRAST, EVERY_RULE, NARROW, WIDE, open_page, overflow, violations
from tests.browser.places import places


@pytest.mark.parametrize(("theme", "rules"), [("light", EVERY_RULE), ("dark", CONTRAST)])
def test_no_page_keeps_people_out(visitor, house, theme: str, rules: tuple[str, ...]) -> None:
    page = visitor.enter(theme=theme)
    found = violations(open_page(page, "/admin/login/"), rules=rules)

    page = visitor.enter("demo-admin", theme=theme)
    for address in places(house).values():
        found += violations(open_page(page, address), rules=rules)

    assert found == []


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_no_page_is_wider_than_its_window(visitor, house, width: int) -> None:
    page = visitor.enter(width=width)
    wide = {"login": overflow(open_page(page, "/admin/login/"))}

    page = visitor.enter("demo-admin", width=width)
    wide |= {name: overflow(open_page(page, address)) for name, address in places(house).items()}

    assert {name: pixels for name, pixels in wide.items() if pixels > 0} == {}
