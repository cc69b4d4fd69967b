"""Everybody can use the console: contrast, names, widths, in light and dark."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from ociqueue.models import Site
from tests.support.browsing import NARROW, WIDE, open_page, overflow, settled, watched
from tests.support.console_pages import places
from tests.support.page_faults import faults

# A list, a job, a form, a question, a table of settings; the others have the same parts, and are looked over at night.
BY_DAY = ("dashboard", "failed-conversions", "conversion", "bulk-confirm", "import", "site", "new-order", "preferences")


@pytest.mark.parametrize("names", [BY_DAY, pytest.param((), marks=pytest.mark.nightly)], ids=["some", "all"])
def test_no_page_keeps_people_out_or_is_wider_than_its_window(visitor, house, names: tuple[str, ...]) -> None:
    complaints: list[str] = []
    found = faults(open_page(watched(visitor.enter(), complaints), "/admin/login/"), "login")

    page = watched(visitor.enter("demo-owner"), complaints)
    for name, address in places(house).items():
        if not names or name in names:
            found += faults(open_page(page, address), name)

    assert found + complaints == []


def test_no_cell_of_a_list_is_cut_off_on_a_narrow_screen(visitor, house) -> None:
    """A state may have two badges, and an error's text opens within its cell."""
    page = visitor.enter("demo-owner", width=NARROW)
    for width in (NARROW, 900):
        page.set_viewport_size({"width": width, "height": 900})
        for name in ("conversions", "pdf-jobs", "cutting-jobs"):
            open_page(page, places(house)[name])
            page.evaluate("document.querySelectorAll('details.kilit-more').forEach(error => error.open = true)")
            cells = page.locator("#list-rows tr > :is(td, th)")
            assert cells.count()
            assert cells.evaluate_all("all => all.filter(one => one.scrollHeight > one.clientHeight).length") == 0


def test_a_row_has_two_lines_on_a_phone_and_no_column_is_cut_off_at_1280(visitor, house) -> None:
    Site.objects.update(customer_id="1234567890")
    page = visitor.enter("demo-operator", width=NARROW)
    for name in ("conversions", "adjustments", "uploads", "pdf-jobs", "cutting-jobs"):
        open_page(page, places(house)[name])
        heights = page.locator("#list-rows > tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
        assert max(heights) < 75, (name, heights)
    page.locator("input.action-select").first.check()
    expect(page.locator(".kilit-actions")).to_be_in_viewport()
    expect(page.locator(".action-counter")).to_have_text("1 selected")

    page.set_viewport_size({"width": WIDE, "height": 800})
    for name in ("conversions", "failed-conversions", "adjustments", "uploads", "pdf-jobs", "cutting-jobs"):
        open_page(page, places(house)[name])
        over = "frame => frame.scrollWidth - frame.clientWidth"
        assert page.locator(".kilit-list-frame").evaluate(over) == 0, name


@pytest.mark.nightly  # by day, for others
def test_the_page_of_a_person_fits_for_superusers_too(visitor, house) -> None:
    """They choose among all permissions, in two boxes."""
    User.objects.create_superuser("root")
    page = open_page(visitor.enter("root"), places(house)["person"])

    for width in (NARROW, 1024, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        assert overflow(settled(page)) == 0, width


@pytest.mark.nightly  # by day, without a browser
def test_members_of_a_site_can_be_removed_on_a_phone(visitor, house) -> None:
    page = open_page(visitor.enter("demo-owner", width=NARROW), places(house)["members"])

    buttons = page.locator("tbody.original td.delete label")

    assert buttons.count()
    assert max(buttons.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")) <= NARROW


def test_the_console_is_dark_where_the_machine_is(visitor, house) -> None:
    page = open_page(visitor.enter("demo-owner", theme="dark"), "/admin/")

    expect(page.locator("html")).to_have_class(re.compile(r"(^|\s)dark(\s|$)"))
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
