"""The dashboard in ten seconds, and pages that follow what happens without losing what a person does on them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from time import monotonic

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from kilit.sites.models import SiteMembership
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion, Site
from tests.support.browsing import WIDE, open_page
from tests.support.conversions import new_conversion
from tests.support.dashboard import make_site
from tests.support.waiting import PATIENCE, wait_until

AT_ONCE = 10


class MovingRows:
    """Claims rows and puts them back, a few at a time, all of the site in turn."""

    def __init__(self, site: Site, *, per_second: int) -> None:
        ids = list(Conversion.objects.for_site(site).values_list("pk", flat=True))
        self.parts = cycle([ids[at : at + AT_ONCE] for at in range(0, len(ids), AT_ONCE)])
        self.per_second = per_second
        self.stop = threading.Event()
        self.moved = 0

    def run(self) -> None:
        began = monotonic()
        try:
            while not self.stop.is_set() and monotonic() < began + PATIENCE:
                rows = Conversion.objects.filter(pk__in=next(self.parts))
                self.moved += len(rows.claim(limit=AT_ONCE)) + len(rows.reset_to_queued())
                self.stop.wait(max(0, began + self.moved / self.per_second - monotonic()))
        finally:
            connections.close_all()


@contextmanager
def moving_rows(site: Site, *, per_second: int) -> Iterator[MovingRows]:
    moving = MovingRows(site, per_second=per_second)
    thread = threading.Thread(target=moving.run)
    thread.start()
    try:
        yield moving
    finally:
        moving.stop.set()
        thread.join(PATIENCE)


THOUSANDS = 2_500
LIST = "/admin/ociqueue/conversion/"
ON_SCREEN = "document.activeElement.getBoundingClientRect().top"
PLACE = f"[window.scrollY, {ON_SCREEN}]"


@pytest.fixture
def site(house) -> Site:
    """A site of the demo's operator, and a worker that runs."""
    Heartbeat.objects.update(alive_at=Now())
    made = make_site("Anadolu")
    SiteMembership.objects.create(site=made, user=User.objects.get(username="demo-operator"), role="operator")
    return made


def refresh(page: Page) -> None:
    """Ask now rather than in ten seconds, and wait for the answer."""
    with page.expect_response(lambda answer: answer.request.headers.get("if-none-match", "") != ""):
        page.evaluate("document.dispatchEvent(new Event('kilit:refresh'))")


def enqueue(site: Site, rows: int, **columns: object) -> list[Conversion]:
    made: list[Conversion] = Conversion.objects.bulk_create(new_conversion(site, **columns) for _ in range(rows))
    return made


def test_the_dashboard_names_three_problems_in_ten_seconds(visitor, site, tmp_path) -> None:
    enqueue(site, THOUSANDS)
    rows = Conversion.objects.for_site(site)
    rows.claim(limit=THOUSANDS)
    rows.filter(status="PROCESSING").ack_failed(code="UPLOAD_EXCEPTION", category="TRANSIENT", message="No route.")
    Heartbeat.objects.create(name="mill:7:x", alive_at=Now() - timedelta(minutes=4))
    berlin = make_site("Berlin", is_paused=True, pause_reason="Audit")
    SiteMembership.objects.create(site=berlin, user=User.objects.get(username="demo-operator"), role="operator")
    page = visitor.enter("demo-operator")
    page.set_viewport_size({"width": 1280, "height": 800})

    open_page(page, "/admin/")
    page.screenshot(path=tmp_path / "dashboard.png")

    for text in ("2,500 conversions failed", "A worker does not respond", "Berlin is paused"):
        named = page.locator("#dashboard").get_by_text(text).first.bounding_box()
        assert named, text
        assert named["y"] + named["height"] <= 800, text
    strips = page.locator(".kilit-strip").last.bounding_box()
    assert strips
    assert strips["y"] + strips["height"] <= 800
    assert all(page.locator(".kilit-strip h2 > [aria-hidden]").all_text_contents()), "a strip has the icon of its menu"
    expect(
        page.locator(".kilit-problem").filter(has_text="2,500").get_by_role("link", name="Review and retry")
    ).to_be_visible()


def test_a_list_follows_its_rows_and_keeps_selection_focus_and_scroll(visitor, site) -> None:
    ticked, focused, moves, *_others = enqueue(site, 40)
    page = visitor.enter("demo-operator")
    open_page(page, f"{LIST}?site={site.pk}")
    row = page.locator("#list-rows tr")
    page.locator(f"input.action-select[value='{ticked.pk}']").check()
    page.locator(f"a[href*='{focused.pk}']").first.focus()
    page.evaluate("window.scrollTo(0, 300)")
    before = page.evaluate(PLACE)
    page.evaluate("document.querySelector('#result_list').dataset.same = 'yes'")

    Conversion.objects.filter(pk__in=[ticked.pk, moves.pk, focused.pk]).mark_failed()
    refresh(page)

    expect(row.filter(has=page.locator(f"a[href*='{moves.pk}']"))).to_contain_text("FAILED", ignore_case=True)
    expect(row.filter(has=page.locator(f"a[href*='{ticked.pk}']"))).to_contain_text("FAILED", ignore_case=True)
    expect(page.locator(f"input.action-select[value='{ticked.pk}']")).to_be_checked()
    assert str(focused.pk) in page.evaluate("document.activeElement.href")
    assert page.evaluate(PLACE) == pytest.approx(before, abs=60)
    assert page.evaluate("document.querySelector('#result_list').dataset.same") == "yes"

    (new,) = enqueue(site, 1)
    refresh(page)
    expect(row.first).to_contain_text("Waiting")
    expect(page.locator(f"a[href*='{new.pk}']").first).to_be_attached()


@pytest.mark.nightly  # a storm; by day, a list follows its rows
def test_a_list_keeps_its_place_while_100_rows_a_second_move(visitor, site) -> None:
    *_others, ticked, fails, focused = enqueue(site, 40)[:25]
    page, asked = visitor.enter("demo-operator"), []
    page.set_viewport_size({"width": WIDE, "height": 600})  # too low for the list
    page.clock.install()
    open_page(page, f"{LIST}?site={site.pk}")
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))  # its time passes below only
    page.on("request", lambda request: asked.append(request.url) if request.resource_type == "fetch" else None)
    page.locator(f"input.action-select[value='{ticked.pk}']").check()
    page.locator(f"a[href*='{focused.pk}']").first.focus()  # in the middle of the list, and scrolls to it
    before = page.evaluate(ON_SCREEN)

    with moving_rows(site, per_second=100) as moving:
        for turn in (1, 2, 3):
            wait_until(lambda turn=turn: moving.moved >= 100 * turn)
            with page.expect_response(lambda answer: LIST in answer.url) as answered:
                page.clock.run_for(10_000)
            assert answered.value.status == 200, "rows moved since the last answer"
            answered.value.finished()
    Conversion.objects.filter(pk=fails.pk).mark_failed()
    page.clock.run_for(10_000)

    expect(page.locator(f"#list-rows tr[data-live-key='{fails.pk}']")).to_contain_text("Failed")
    expect(page.locator(f"input.action-select[value='{ticked.pk}']")).to_be_checked()
    assert str(focused.pk) in page.evaluate("document.activeElement.href")
    # Rows above it have become higher; on the screen it is where it was.
    assert page.evaluate(ON_SCREEN) == pytest.approx(before, abs=30)
    assert 4 <= len(asked) <= 6, f"in 40 seconds: {asked}"


def test_a_refresh_without_news_is_answered_without_a_page(visitor, house, site) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, LIST)
    expect(page.locator("#live-age")).to_contain_text("Updated")

    with page.expect_response(lambda answer: answer.request.headers.get("if-none-match", "") != "") as answered:
        page.evaluate("document.dispatchEvent(new Event('kilit:refresh'))")

    assert answered.value.status in (304, 200)  # 200 when a minute has just ended


def test_a_jobs_page_follows_it_to_its_end(visitor, house, site) -> None:
    (job,) = enqueue(site, 1)
    page = visitor.enter("demo-operator")
    open_page(page, f"{LIST}{job.pk}/change/")

    Conversion.objects.filter(pk=job.pk).claim(limit=1)
    refresh(page)
    expect(page.locator("#content")).to_contain_text("PROCESSING")
    Conversion.objects.filter(pk=job.pk).move("ack")
    refresh(page)

    expect(page.locator("#content")).to_contain_text("COMPLETED")
    expect(page.locator("#live-age")).to_have_text("Finished")


def test_when_workers_or_the_server_stop_every_page_says_so(visitor, house, site) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, "/admin/preferences/")
    expect(page.get_by_text("No worker is running")).to_have_count(0)

    Heartbeat.objects.all().delete()
    refresh(page)
    expect(page.locator("#banner")).to_contain_text("No worker is running")

    page.route("**/admin/live/", lambda route: route.fulfill(status=503))
    refresh(page)
    expect(page.locator("#banner-database")).to_be_visible()
    expect(page.locator("#live-age")).to_contain_text("Not updated")


@pytest.mark.nightly  # a button
def test_the_button_says_that_it_stops_the_refreshing_and_then_that_it_starts_it(visitor, site) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, LIST)

    page.get_by_role("button", name="Stop refreshing this page").click()
    again = page.get_by_role("button", name="Refresh this page again")

    expect(again).to_have_attribute("title", "Refresh this page again")
    with page.expect_response(lambda answer: answer.request.headers.get("if-none-match", "") != ""):
        again.click()
