"""Lists work without JavaScript: rows can be read and clicked, and filters narrow them."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browsing import NARROW, WIDE

LIST = "/admin/orchestrator/job/"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_filters_do_not_cover_the_list(visitor, width) -> None:
    page = visitor.enter("demo-viewer", width=width, scripts=False)
    page.goto(LIST)

    page.get_by_role("link", name=re.compile("^HOLD")).click()

    expect(page).to_have_url(re.compile(r"status=HOLD"))
    page.get_by_role("link", name="DEMO-1004").click()
    expect(page).to_have_url(re.compile("/change/"))
