"""Every list shows many rows at once: a line each, two on a phone, and its controls leave them room."""

from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse
from playwright.sync_api import Page, expect

from orchestrator.models import Customer
from tests.support.browsing import NARROW, open_page, overflow

# Repeats the rows until they fill any screen; a row counts if nothing covers its foot.
MEASURE = """() => {
  const body = document.querySelector("#list-rows");
  const rows = [...(body?.rows ?? [])];
  if (!rows.length) return null;
  for (let at = 0; body.rows.length < 40; at++) body.append(rows[at % rows.length].cloneNode(true));
  const all = [...body.rows];
  const isWhole = (row) => {
    const { left, width, bottom } = row.getBoundingClientRect();
    return row.contains(document.elementFromPoint(left + width / 2, bottom - 3));
  };
  const frame = document.querySelector(".kilit-list-frame");
  const crumbs = [...document.querySelectorAll("h1 .truncate")];
  return {
    rows: all.filter(isWhole).length,
    first: all[0].getBoundingClientRect().top,
    tallest: Math.max(...all.map((row) => row.offsetHeight)),
    beyond: frame.scrollWidth - frame.clientWidth,
    cut: crumbs.filter((crumb) => crumb.scrollWidth > crumb.clientWidth + 1).length,
  };
}"""


Size = tuple[int, int]
LARGE, SMALL, PHONE = (1440, 900), (1280, 800), (NARROW, 844)


def lists(page: Page, *sizes: Size) -> dict[Size, dict[str, dict[str, Any]]]:
    """Measure each list that has rows, on screens of some sizes."""
    measured: dict[Size, dict[str, dict[str, Any]]] = {size: {} for size in sizes}
    for model in admin.site._registry:
        name = f"{model._meta.app_label}_{model._meta.model_name}_changelist"
        open_page(page, reverse(f"admin:{name}"))
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            assert overflow(page) == 0, name
            if numbers := page.evaluate(MEASURE):
                measured[width, height][name] = numbers
    return measured


def test_every_list_shows_fifteen_rows_on_a_large_screen_and_twelve_on_a_small_one(visitor, house) -> None:
    Customer.objects.create(phone="+905551234567", name="Ayşe Yılmaz")
    on_screens = lists(visitor.enter("demo-owner"), LARGE, SMALL)

    for size, fewest in ((LARGE, 15), (SMALL, 12)):
        measured = on_screens[size]
        assert len(measured) >= 12
        assert {name: numbers for name, numbers in measured.items() if numbers["rows"] < fewest} == {}
        assert {name: numbers for name, numbers in measured.items() if numbers["beyond"] or numbers["cut"]} == {}


@pytest.mark.nightly  # by day, test_access.py: a row has two lines on a phone
def test_on_a_phone_every_list_begins_at_once_and_has_two_lines_a_row(visitor, house) -> None:
    page = visitor.enter("demo-owner", width=NARROW)
    measured = lists(page, PHONE)[PHONE]

    assert {name: numbers for name, numbers in measured.items() if numbers["first"] > 260} == {}
    assert {name: numbers for name, numbers in measured.items() if numbers["tallest"] > 60} == {}
    open_page(page, "/admin/ociqueue/site/")
    expect(page.get_by_role("link", name="Add site")).to_be_in_viewport()


def test_a_list_is_searched_as_one_types(visitor, house) -> None:
    page = open_page(visitor.enter("demo-owner"), "/admin/auth/user/")
    rows = page.locator("#list-rows > tr")
    expect(rows).not_to_have_count(1)

    page.locator("#searchbar").press_sequentially("demo-opera")
    expect(rows).to_have_count(1)
    expect(page.locator(".kilit-chip-set")).to_contain_text("demo-opera")
    expect(page.locator("#searchbar")).to_be_focused()
    assert page.url.endswith("?q=demo-opera")

    page.keyboard.type("nobody")
    expect(page.get_by_role("heading", name="No users with search: demo-operanobody.")).to_be_visible()
    page.get_by_role("link", name="Clear filters").first.click()
    expect(rows).not_to_have_count(1)
