"""Thousands of rows acted on from a list, with a real worker: preview, confirmation, progress, report."""

import re

import pytest
from playwright.sync_api import expect

from kilit.batches.models import BulkAction
from kilit.lock.models import Event
from ociqueue.models import Conversion
from tests.support.browsing import open_page
from tests.support.conversions import new_conversion
from tests.support.pdf_workers import real_workers

CODE = "CLICK_NOT_FOUND"
LIST = "/admin/ociqueue/conversion/"


def fail(site, number: int) -> None:
    """Make the rows, claim them and fail them, as a script would."""
    made = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
    rows = Conversion.objects.filter(pk__in=[row.pk for row in made])
    rows.claim(limit=number)
    rows.ack_failed(code=CODE, category="VALIDATION", message="No click was found.")


@pytest.mark.parametrize("number", [1_000, pytest.param(5_000, marks=pytest.mark.nightly)])
def test_thousands_of_rows_are_retried_by_filter(visitor, house, tmp_path, number: int) -> None:
    rows = f"{number:,}"
    fail(house.site, number)
    page = visitor.enter("demo-operator")
    open_page(page, f"{LIST}?code={CODE}&status=FAILED")

    page.locator("#list-menu > summary").click()
    page.get_by_role("link", name="Retry — only: Failed, Waiting to retry").click()
    expect(page.locator("main")).to_contain_text(f"Retry: {rows} match (Failed: {rows}).")
    expect(page.locator("main")).to_contain_text(f"error code: {CODE}")
    page.get_by_label("Reason").fill("The account was fixed.")
    page.get_by_label(f"Type {rows} to confirm").fill("500")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(f"Type {rows} to confirm: that many rows would be changed now.")
    assert BulkAction.objects.count() == 1, "a wrong count leaves nothing behind"

    page.get_by_label(f"Type {rows} to confirm").fill(rows)
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page).to_have_url(re.compile("/admin/bulk/bulkaction/"))
    expect(page.locator("main")).to_contain_text(f"0 of {rows} rows processed (0 %)")
    with real_workers(tmp_path):
        # The page refreshes itself.
        expect(page.locator("main")).to_contain_text(f"Retried {rows} of {rows}.")

    expect(page.locator("main h2").first).to_contain_text(f"Retried {rows} of {rows}.")
    expect(page.locator("main")).not_to_contain_text("rows processed")
    expect(page.get_by_role("link", name="Stop")).to_have_count(0)
    with page.expect_download() as coming:
        page.get_by_role("link", name="Results (CSV)").click()
    lines = coming.value.path().read_text().splitlines()
    assert len(lines) == number + 1
    assert sum(",changed," in line for line in lines) == number
    moved = Conversion.objects.filter(provider_error_code=CODE)
    assert not moved.filter(status="FAILED").exists()
    event = Event.objects.filter(object_id=moved[0].pk, to_state="QUEUED").latest("pk")
    assert (event.actor, event.message[:22]) == ("operator:demo-operator", "The account was fixed.")


def test_a_group_of_failures_is_retried_from_its_own_page(visitor, house) -> None:
    """What looks alike is fixed once, and retried once."""
    page = visitor.enter("demo-operator")
    open_page(page, f"{LIST}groups/")
    group = page.locator("section").filter(has_text="UPLOAD_EXCEPTION")

    group.get_by_role("link", name="Review and retry").click()
    expect(page.locator("main")).to_contain_text("error group: UPLOAD_EXCEPTION")
    page.get_by_label("Reason").fill("Google works again.")
    page.get_by_role("button", name="Retry", exact=True).click()

    expect(page).to_have_url(re.compile("/admin/bulk/bulkaction/"))
    expect(page.locator("main")).to_contain_text("Google works again.")
