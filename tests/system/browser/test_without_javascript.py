"""Lists work without JavaScript: rows can be read and clicked, and filters narrow them."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browsing import NARROW, WIDE


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_filters_do_not_cover_the_list(visitor, width) -> None:
    page = visitor.enter("demo-owner", width=width, scripts=False)
    page.goto("/admin/auth/user/")

    page.locator("#list-filters > summary").click()
    page.get_by_label("Role").select_option("operator")
    page.get_by_role("button", name="Apply").click()

    expect(page).to_have_url(re.compile(r"role=operator"))
    page.get_by_role("link", name="demo-operator").click()
    expect(page).to_have_url(re.compile("/change/"))


def test_a_queue_is_narrowed_and_a_job_opened(visitor) -> None:
    page = visitor.enter("demo-viewer", scripts=False)
    page.goto("/admin/orchestrator/job/")

    page.get_by_role("link", name=re.compile("^Needs approval")).first.click()

    expect(page).to_have_url(re.compile("status=HOLD"))
    page.get_by_role("link", name=re.compile("DEMO-1004")).click()
    expect(page).to_have_url(re.compile("/change/"))
