"""How many clicks daily work takes, counted from the dashboard; the console promises these numbers."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from kilit.lock.models import Activity
from kilit.sites.models import SiteMembership
from ociqueue.models import Conversion, Site
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.alerts import make_channel
from tests.support.clicking import Mouse
from tests.support.conversions import make_failed, new_conversion
from tests.support.cutting_jobs import held
from tests.support.dashboard import make_site
from tests.support.imports import HEADER, TIME
from tests.support.pdf_jobs import bring, new_job

CODE = "UPLOAD_EXCEPTION"
WRONG = "UNPARSEABLE_GCLID"
FAILED = 120


@pytest.fixture
def broken_site(house) -> Site:
    """A site of the demo's operator with many failures of one cause."""
    site = make_site("Anadolu")
    SiteMembership.objects.create(site=site, user=User.objects.get(username="demo-operator"), role="operator")
    Conversion.objects.bulk_create(new_conversion(site, source_key=f"SIP-{number:04}") for number in range(FAILED))
    rows = Conversion.objects.for_site(site)
    rows.claim(limit=FAILED)
    rows.filter(status="PROCESSING").ack_failed(code=CODE, category="TRANSIENT", message="No route.")
    return site


def make_failures_of_many_sites() -> None:
    for number in range(30):
        site = make_site(f"Şube {number}")
        SiteMembership.objects.create(site=site, user=User.objects.get(username="demo-operator"), role="operator")
        make_failed(site, 3, code=WRONG, category="VALIDATION", gclid="broken")


@pytest.fixture
def pdf(house) -> PdfJob:
    return bring(new_job(number=4711), "succeeded")


def find_and_retry(mouse: Mouse) -> tuple[int, int]:
    mouse.find("sip-0007", "SIP-0007")
    expect(mouse.page.get_by_role("heading", name="SIP-0007", exact=True)).to_be_visible()
    found = mouse.clicks
    mouse.page.locator(".kilit-primary").click()
    expect(mouse.page.get_by_text("Retried 1 of 1.")).to_be_visible()
    return found, mouse.clicks - found


def retry_one_cause(mouse: Mouse) -> int:
    line = mouse.page.locator(".kilit-problem").filter(has_text=str(FAILED - 1))
    line.get_by_role("link", name="Review and retry").click()
    expect(mouse.page.get_by_label("Reason")).to_be_focused()
    mouse.page.keyboard.type("Google works again.")
    mouse.page.keyboard.press("Tab")
    mouse.page.keyboard.type(str(FAILED - 1))
    mouse.page.locator("#content form button[type=submit]").click()
    expect(mouse.page.locator("#bulk-progress")).to_contain_text("RUNNING")
    return mouse.clicks


def filter_by_state_site_and_code(mouse: Mouse, site: Site) -> int:
    mouse.page.locator("#conversion-FAILED").click()
    mouse.page.locator("#list-filters > summary").click()
    expect(mouse.page.get_by_label("Site", exact=True)).to_be_focused()
    mouse.page.keyboard.type(site.name)
    mouse.page.keyboard.press("Tab")
    mouse.page.keyboard.type(CODE)
    mouse.page.keyboard.press("Enter")
    expect(mouse.page).to_have_url(re.compile(rf"status=FAILED&site={site.pk}&code={CODE}"))
    return mouse.clicks


def release_an_unknown_customer(mouse: Mouse, job: Job) -> int:
    Job.objects.filter(pk=job.pk).update(customer_snapshot_name="Ayşe Yılmaz")
    mouse.start()
    mouse.page.locator(".kilit-problem").get_by_role("link", name="Ayşe Yılmaz").click()
    mouse.page.locator(".kilit-primary").click()
    expect(mouse.page.get_by_text("Approved 1 of 1.")).to_be_visible()
    return mouse.clicks


def release_ten_unknown_customers(mouse: Mouse) -> int:
    for number in range(10):
        held(order_id=f"T-{number}", customer_phone=f"+90532000110{number}")
    mouse.start()
    mouse.page.locator(".kilit-problem").get_by_role("link", name="Add 10 customers").click()
    expect(mouse.page.get_by_label("Name of +90 532 000 11 00")).to_be_focused()
    for number in range(10):
        mouse.page.keyboard.type(f"Müşteri {number}")
        mouse.page.keyboard.press("Tab")
    mouse.page.get_by_role("button", name="Add 10 customers and continue their jobs").click()
    expect(mouse.page.get_by_text("Approved 10 of 10.")).to_be_visible()
    return mouse.clicks


def download_a_pdf(mouse: Mouse) -> int:
    mouse.find("n-4711", "N-4711")
    with mouse.page.expect_download() as download:
        mouse.page.locator(".kilit-primary").click()
    assert download.value.path().read_bytes().startswith(b"%PDF-")
    return mouse.clicks


def pause_a_site(mouse: Mouse, site: Site) -> int:
    mouse.find("anad", site.name)
    mouse.page.locator("#site-pause > summary").click()
    expect(mouse.page.get_by_label("Reason")).to_be_focused()
    mouse.page.keyboard.type("Wrong prices")
    mouse.page.keyboard.press("Enter")
    expect(mouse.page.get_by_text("Anadolu is paused.")).to_be_visible()
    return mouse.clicks


def add_an_operator_to_a_site(mouse: Mouse, site: Site) -> int:
    mouse.find("anad", site.name)
    mouse.page.get_by_role("link", name="Members").click()
    mouse.page.locator(".select2-selection").last.click()
    mouse.page.keyboard.type("demo-view")
    expect(mouse.page.locator(".select2-results__option--highlighted")).to_have_text("demo-viewer")
    mouse.page.keyboard.press("Enter")
    mouse.page.keyboard.press("Tab")
    mouse.page.keyboard.type("oper")
    mouse.page.get_by_role("button", name="Save").click()
    expect(mouse.page.get_by_text("was changed successfully")).to_be_visible()
    return mouse.clicks


def read_the_actions_of_yesterday(mouse: Mouse) -> int:
    yesterday = timezone.now() - timedelta(days=1)
    Activity.objects.create(
        kind="action",
        actor="operator:demo-operator",
        person="demo-operator",
        queue="conversion",
        verb="reset_to_queued",
        message="Retried yesterday",
        created_at=yesterday,
    )
    mouse.page.get_by_role("link", name="Activity").click()
    mouse.page.get_by_role("link", name="Yesterday").click()
    expect(mouse.page.locator("#list-rows")).to_contain_text("Retried yesterday")
    return mouse.clicks


def send_a_test(mouse: Mouse) -> int:
    mouse.page.get_by_role("link", name="Alerts", exact=True).click()
    mouse.page.get_by_role("link", name="Operations").click()
    mouse.page.get_by_role("link", name="Send a test").click()
    mouse.page.get_by_role("button", name="Send a test").click()
    expect(mouse.page.get_by_text(re.compile("The test (is on its way|waits)"))).to_be_visible()
    return mouse.clicks


def copy_the_script_of_a_new_site(mouse: Mouse) -> int:
    mouse.find("add a site", "Add site")
    expect(mouse.page.get_by_label("Name")).to_be_focused()
    mouse.page.keyboard.type("Yeni Mobilya")
    mouse.page.get_by_role("button", name="Save").click()
    mouse.page.get_by_role("button", name="Issue a key: Ads Script").click()
    with mouse.page.expect_response(re.compile("/ads-script/copied/")):
        mouse.page.get_by_role("button", name="Copy the script").click()
    script = mouse.page.locator("#ads-script").inner_text()
    assert '"apiKey": "kilit_' in script
    return mouse.clicks


def choose_file(page: Page, name: str, content: str) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator("label[for=id_file]").last.click()
    chooser.value.set_files({"name": name, "mimeType": "text/csv", "buffer": content.encode()})


def correct_one_cause_of_many_sites(mouse: Mouse) -> int:
    mouse.page.locator(".kilit-problem").filter(has_text=WRONG).get_by_role("link", name="Review and correct").click()
    with mouse.page.expect_download() as download:
        mouse.page.get_by_role("link", name="Download the failed conversions (CSV)").click()
    text = download.value.path().read_text("utf-8-sig").replace("broken", "Cj0KCQ-right")
    choose_file(mouse.page, "failed.csv", text)
    mouse.page.get_by_role("button", name="Correct and resend 90 rows").click()
    expect(mouse.page.get_by_text("Corrected 90 of 90 rows")).to_be_visible()
    return mouse.clicks


def correct_five_lines(mouse: Mouse, site: Site) -> int:
    mouse.find("import csv", "Import CSV")
    line = f"{site.public_id},Satış,click-{{}},{TIME},{{}},TRY\n".format
    bad = "".join(line(number, "many") for number in range(5))
    choose_file(mouse.page, "sales.csv", f"siteId,{HEADER}{line('good', '1.50')}{bad}")
    expect(mouse.page.locator("#lines-grid [aria-invalid]")).to_have_count(5)
    for number in range(5):
        mouse.page.keyboard.type(f"{number + 1},50")
        mouse.page.keyboard.press("Enter")
    mouse.page.get_by_role("button", name=re.compile("Import 1 line .*, with the corrected lines")).click()
    expect(mouse.page.get_by_text("Stored 6 of 6 lines; 0 duplicates, 0 rejected.")).to_be_visible()
    return mouse.clicks


def test_daily_work_of_an_operator_takes_few_clicks(visitor, house, broken_site, pdf) -> None:
    mouse = Mouse(visitor.enter("demo-operator"))
    counted = {}

    mouse.start()
    counted["find a conversion"], counted["retry it"] = find_and_retry(mouse)
    mouse.start()
    counted["filter by state, site and code"] = filter_by_state_site_and_code(mouse, broken_site)
    mouse.start()
    counted["retry one cause"] = retry_one_cause(mouse)
    counted["release an unknown customer"] = release_an_unknown_customer(mouse, house.held)
    counted["release ten unknown customers"] = release_ten_unknown_customers(mouse)
    make_failures_of_many_sites()
    mouse.start()
    counted["correct one cause of many sites"] = correct_one_cause_of_many_sites(mouse)
    mouse.start()
    counted["correct five lines of a file"] = correct_five_lines(mouse, broken_site)
    mouse.start()
    counted["download a PDF"] = download_a_pdf(mouse)
    mouse.start()
    counted["pause a site"] = pause_a_site(mouse, broken_site)
    mouse.start()
    counted["read the actions of yesterday"] = read_the_actions_of_yesterday(mouse)

    assert counted == {
        "find a conversion": 1,
        "retry it": 1,
        "filter by state, site and code": 2,
        "retry one cause": 2,
        "release an unknown customer": 2,
        "release ten unknown customers": 2,
        "correct one cause of many sites": 4,
        "correct five lines of a file": 3,
        "download a PDF": 2,
        "pause a site": 2,
        "read the actions of yesterday": 2,
    }
    assert Site.objects.get(pk=broken_site.pk).pause_reason == "Wrong prices"


def test_daily_work_of_an_admin_takes_few_clicks(visitor, broken_site) -> None:
    mouse = Mouse(visitor.enter("demo-admin"))
    admin = User.objects.get(username="demo-admin")
    SiteMembership.objects.create(site=broken_site, user=admin, role="admin")
    make_channel(owner=admin)
    counted = {}

    mouse.start()
    counted["copy the script of a new site"] = copy_the_script_of_a_new_site(mouse)
    mouse.start()
    counted["add an operator to a site"] = add_an_operator_to_a_site(mouse, broken_site)
    mouse.start()
    counted["test an alert channel"] = send_a_test(mouse)

    assert counted == {
        "copy the script of a new site": 4,
        "add an operator to a site": 4,
        "test an alert channel": 4,
    }
    assert SiteMembership.objects.get(site=broken_site, user__username="demo-viewer").role == "operator"
