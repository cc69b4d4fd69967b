"""What an operator does in a day, click by click."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, Route, expect

from kilit.access.models import DeniedRequest
from kilit.lock.models import Event
from kilit.sites.models import SiteMembership
from ociqueue.models import Conversion, Site
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.browsing import NARROW, open_page
from tests.support.console_pages import places
from tests.support.imports import HEADER, good_lines
from tests.support.pdf_workers import real_workers
from tests.support.waiting import wait_until

REASON = "The template is fixed."


def primary(page: Page, name: str) -> Locator:
    """Return the one action that stands out on a job's page."""
    return page.locator(".kilit-primary", has_text=name)


def focused(page: Page) -> str:
    """Return the name of what has the focus."""
    return str(page.evaluate("(document.activeElement.ariaLabel || document.activeElement.innerText || '').trim()"))


def tab_to(page: Page, name: str, *, most: int = 90) -> None:
    """Press Tab until something has the focus that is called so, and see that the focus shows."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if name in focused(page):  # an icon's name may stand before it
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            shadow = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
            assert outline != "none" or shadow != "none", f"the focus on {name} is invisible"
            return
    raise AssertionError(f"Tab never reaches {name}")


def test_an_operator_logs_in_finds_a_failure_reads_its_story_retries_it_and_sees_it_move(visitor, house) -> None:
    page = visitor.enter()
    login = house.logins["operator"]
    open_page(page, "/admin/ociqueue/conversion/?status=FAILED")
    page.get_by_label("Username").fill(login["username"])
    page.locator("#id_password").fill(login["password"])
    page.get_by_role("button", name="Log in").click()

    expect(page).to_have_url(re.compile("status=FAILED"))
    page.locator(f"a[href*='{house.failed.pk}']").first.click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.locator("main")).to_contain_text("PROCESSING → FAILED")

    page.get_by_label("Reason (optional)").fill(REASON)
    primary(page, "Retry").click()

    expect(page.get_by_text("Retried 1 of 1.")).to_be_visible()
    expect(page.locator("main")).to_contain_text("FAILED → QUEUED")
    expect(page.locator("main")).to_contain_text(f"“{REASON}”")
    assert Conversion.objects.get(pk=house.failed.pk).status == "QUEUED"
    assert Event.objects.of(house.failed).last().actor == "operator:demo-operator"


def test_a_failed_document_is_retried_made_by_a_worker_and_seen_in_the_page(visitor, house, tmp_path) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, places(house)["pdf-job"])

    # Nothing stands out: another attempt helps only when the template has been fixed.
    expect(page.locator(".kilit-primary")).to_have_count(0)
    page.locator("#job-actions summary", has_text="More").click()
    page.locator("#job-actions").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Retried 1 of 1.")).to_be_visible()  # or the reload would come in its way
    with real_workers(tmp_path):
        wait_until(lambda: PdfJob.objects.get(pk=house.broken.pk).status == "succeeded")
    page.reload()

    expect(page.get_by_label("The PDF", exact=True)).to_be_visible()
    file = primary(page, "Download the PDF").get_attribute("href")
    answer = page.request.get(file.removesuffix("?download"))
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.body().startswith(b"%PDF-")


def test_a_job_on_hold_says_what_to_fix_and_goes_on_when_approved(visitor, house) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, places(house)["cutting-job"])
    expect(page.locator("main")).to_contain_text("E_CRM_NO_MATCH")

    page.get_by_label("Name of +90 536 000 11 22").fill("Ayşe Yılmaz")
    primary(page, "Add +90 536 000 11 22 as customer and continue").click()

    expect(page.locator("main")).to_contain_text("HOLD_APPROVED")
    assert Job.objects.get(pk=house.held.pk).status != "HOLD"


@pytest.mark.nightly  # by day, tests/kilit/console/test_walk.py without a browser
def test_a_viewer_sees_everything_and_no_action(visitor, house) -> None:
    page = visitor.enter("demo-viewer")
    refused = DeniedRequest.objects.count()

    for name in ("conversion", "pdf-job", "cutting-job", "conversions", "site"):
        open_page(page, places(house)[name])
        for verb in ("Retry", "Approve", "Cancel", "Mark failed", "Reset to queued", "Expire", "Save"):
            expect(page.get_by_role("link", name=verb, exact=True)).to_have_count(0)
            expect(page.get_by_role("button", name=verb, exact=True)).to_have_count(0)
        expect(page.locator("select[name=action]")).to_have_count(0)
    assert DeniedRequest.objects.count() == refused


def test_everything_is_reached_by_the_keyboard_alone(visitor, house) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, places(house)["conversion"])

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()

    # The buttons stand in the page's head, before its content.
    open_page(page, places(house)["conversion"])
    tab_to(page, "Retry")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Retried 1 of 1.")).to_be_visible()


@pytest.mark.nightly  # by day, everything else is reached by it
def test_the_filters_open_close_and_narrow_by_the_keyboard_alone(visitor, house) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, "/admin/ociqueue/conversion/")
    button, panel = page.locator("#list-filters > summary"), page.locator("#list-filters > div")

    tab_to(page, "Filters")
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(button).to_be_focused()

    page.keyboard.press("Space")
    expect(page.get_by_label("Site", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("UPLOAD_EXCEPTION")
    page.keyboard.press("Tab")  # the category
    page.keyboard.press("ArrowDown")
    tab_to(page, "Apply")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("code=UPLOAD_EXCEPTION&category="))
    expect(page.locator("main")).to_contain_text("error code: UPLOAD_EXCEPTION")


@pytest.mark.nightly  # by day, everything else is reached by it
def test_the_menu_opens_and_closes_by_the_keyboard(visitor, house) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, "/admin/")
    menu = page.locator(".user-links")

    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Time zone")).to_be_visible()
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")

    expect(page.get_by_role("link", name="Time zone")).to_be_hidden()
    expect(menu).to_be_focused()


@pytest.mark.nightly  # by day, without a browser: tests/kilit/console/account/test_language.py
def test_the_language_is_switched_and_stays(visitor, house) -> None:
    page = visitor.enter("demo-operator")
    open_page(page, "/admin/preferences/")

    page.get_by_role("main").get_by_role("button", name="Türkçe").click()
    expect(page.locator("html")).to_have_attribute("lang", "tr")
    open_page(page, "/admin/")

    expect(page.locator("html")).to_have_attribute("lang", "tr")
    expect(page.get_by_text("Saatler Europe/Istanbul diliminde")).to_be_visible()


@pytest.mark.nightly  # by day, without a browser: tests/kilit/console/account/test_language.py
def test_times_are_the_browsers_own_until_another_zone_is_chosen(visitor, house) -> None:
    page = visitor.enter("demo-operator", zone="Asia/Tokyo")
    open_page(page, "/admin/")
    open_page(page, "/admin/preferences/")
    expect(page.get_by_text("Times are in Asia/Tokyo (UTC+09:00).")).to_be_visible()

    page.get_by_label("Time zone").select_option("Europe/Istanbul")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Times are in Europe/Istanbul (UTC+03:00).")).to_be_visible()


def test_a_locked_out_user_sees_when_to_try_again(visitor, house) -> None:
    page = visitor.enter(width=NARROW)
    for _ in range(settings.LOGIN_TRIES):
        open_page(page, "/admin/login/")
        page.get_by_label("Username").fill("demo-operator")
        page.locator("#id_password").fill("not this one")
        with page.expect_response(lambda answer: answer.request.method == "POST"):  # opened again it would not be sent
            page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("heading")).to_contain_text("Too many failed logins")
    expect(page.get_by_text("Try again in 15 minutes.")).to_be_visible()


def test_a_report_is_disabled_while_another_site_is_checked_and_imports_into_its_own_alone(visitor, house) -> None:
    own, other = Site.objects.filter(sync_method="script").order_by("pk")[:2]
    for site in (own, other):
        SiteMembership.objects.get_or_create(site=site, user=house.person, defaults={"role": "operator"})
    page = visitor.enter("demo-operator")
    open_page(page, "/admin/ociqueue/conversion/import/")
    content = f"{HEADER}{good_lines(2)}".encode()

    def choose(site: Site) -> None:
        page.locator("#id_site").click()
        page.get_by_role("option").filter(has_text=site.name).first.click()

    choose(own)
    page.locator("input[type=file]").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": content})
    first = page.get_by_role("button", name=f"Import 2 lines into {own.name}")
    expect(first).to_be_enabled()
    held: list[Route] = []
    page.route("**/conversion/import/", lambda route: held.append(route))  # noqa: PLW0108
    choose(other)
    expect(first).to_be_disabled()
    first.evaluate("(button) => { button.disabled = false; button.click(); }")  # whatever else may press it
    expect(page.get_by_text(f"Nothing was imported: the file was checked for {own.name}.")).to_be_visible()

    assert held
    assert not Conversion.objects.filter(gclid__startswith="click-").exists()
