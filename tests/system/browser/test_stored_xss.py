"""Stored scripts: what outsiders write is shown as text, in a real browser and without the policy's help."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page

from ociqueue.models import Conversion, Site
from orchestrator.models import Customer, Job
from pdfjobs.models import PdfJob
from tests.support.browsing import PATIENCE, open_page
from tests.support.stored_scripts import EVIL, FILES, fill_the_rest, outsiders_write


@pytest.fixture
def spoilt(house) -> Site:
    outsiders_write(house.site)
    fill_the_rest(house.site)
    return house.site


@pytest.fixture
def unguarded(browser, house, live_server) -> Iterator[Page]:
    """A page of an admin's browser that keeps to no policy, so that escaping alone has to hold."""
    context = browser.new_context(base_url=live_server.url, bypass_csp=True)
    context.set_default_timeout(4 * PATIENCE)
    client = Client()
    client.force_login(User.objects.get(username="demo-owner"))
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}])
    yield context.new_page()
    context.close()


@pytest.mark.nightly  # by day, tests/kilit/console/test_every_page.py looks for it in the pages' source
def test_in_a_browser_without_the_policy_it_stays_text(spoilt, unguarded) -> None:
    row = Conversion.objects.filter(gclid__startswith="xss-", status="FAILED").get()
    pages = [
        "/admin/",
        "/admin/ociqueue/conversion/",
        f"/admin/ociqueue/conversion/{row.pk}/change/",
        f"/admin/ociqueue/conversion/{row.pk}/retry/",
        "/admin/ociqueue/conversion/groups/",
        "/admin/ociqueue/site/",
        f"/admin/ociqueue/site/{spoilt.pk}/change/",
        f"/admin/ociqueue/site/{spoilt.pk}/ads-script/",
        "/admin/pdfjobs/pdfjob/",
        *(f"/admin/pdfjobs/pdfjob/{job.pk}/change/" for job in PdfJob.objects.filter(status="failed")),
        "/admin/orchestrator/job/",
        *(f"/admin/orchestrator/job/{job.pk}/change/" for job in Job.objects.filter(error_message=EVIL)),
        *(f"/admin/orchestrator/job/{job.pk}/change/" for job in Job.objects.filter(order_id__startswith=EVIL[:10])),
        "/admin/orchestrator/job/groups/",
        "/admin/orchestrator/customer/",
        *(f"/admin/orchestrator/customer/{each.pk}/change/" for each in Customer.objects.filter(name=EVIL)[:1]),
        "/admin/access/loginwindow/",
        "/admin/access/deniedrequest/",
        "/admin/access/apikey/",
        "/admin/auth/user/",
    ]
    seen = 0

    def look(at: str) -> None:
        nonlocal seen
        assert unguarded.evaluate("window.hacked") is None, at
        assert unguarded.locator("img[src=x], b[x-init]").count() == 0, at
        seen += "onerror=hacked" in unguarded.locator("body").inner_text()

    for address in pages:
        open_page(unguarded, address)
        look(address)
    spoilt.refresh_from_db()
    for name, content in FILES.items():
        open_page(unguarded, "/admin/ociqueue/conversion/import/")
        unguarded.locator("#id_site").click()
        unguarded.get_by_role("option").filter(has_text=spoilt.name).click()
        unguarded.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
        unguarded.get_by_role("button", name="Check the file").click()
        unguarded.locator("#report > *").first.wait_for()
        look(name)

    assert seen >= 12
