"""The page of a site: its health in one sentence, numbers that lead to lists, tabs, and a new site's first steps."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kilit.access.models import ApiKey
from kilit.lock.audit import acting_as
from kilit.sites.models import Tenant
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.states import SyncMethod
from tests.support.dashboard import make_conversions, text_of
from tests.support.uploads import account, sent, trip

pytestmark = pytest.mark.django_db

LIST, ROWS = "/admin/ociqueue/site/", "/admin/ociqueue/conversion/"


def overview(client: Any, site: Site) -> Any:
    answer = client.get(f"{LIST}{site.pk}/change/")
    assert answer.status_code == 200
    return answer


def sentence(client: Any, site: Site) -> str:
    return str(overview(client, site).context["health"].sentence)


def steps(client: Any, site: Site) -> dict[str, bool]:
    return {step.title: step.is_done for step in overview(client, site).context["steps"]}


def now() -> datetime:
    return datetime.now(UTC)


def test_a_sites_health_is_one_sentence_the_worst_first(make_person, make_site) -> None:
    site = make_site(last_export_at=now())
    viewer = make_person(sites={site: "viewer"})
    works = "The site works: its script exported less than a minute ago, and nothing waits."
    assert sentence(viewer, site) == works

    make_conversions(site, well=1, badly=1, waiting=2)
    assert sentence(viewer, site) == "50 % of the conversions that finished in the last 24 hours failed."
    Site.objects.update(last_export_at=now() - timedelta(days=3))
    assert sentence(viewer, site) == "Conversions wait, and the script has not called for 3\xa0days."
    with acting_as("operator:ali"):
        Tenant.objects.all().pause(reason="wrong prices.")
    assert sentence(viewer, site) == "Paused by ali: wrong prices. Nothing is exported or sent until the pause ends."


def test_the_health_of_an_api_site_names_credentials_circuit_and_test(admin_client, make_site) -> None:
    site = make_site(sync_method=SyncMethod.API)
    assert "has no credentials" in sentence(admin_client, site)

    stored = Credentials.objects.store(site, account())
    assert sentence(admin_client, site) == ("The site works: conversions are sent as they arrive, and nothing waits.")
    stored.note_check(passed=False, report=[])
    assert sentence(admin_client, site) == "The last connection test failed."
    trip(site)
    assert sentence(admin_client, site).startswith("Google rejects the account (INVALID_GRANT)")


def test_each_number_leads_to_its_list(make_person, make_site) -> None:
    site = make_site(last_export_at=now())
    other = make_site(name="Rakip")
    make_conversions(site, well=3, badly=2, waiting=1)
    make_conversions(other, badly=4)
    viewer = make_person(sites={site: "viewer"})

    answer = overview(viewer, site)

    shown = {state.name: (state.rows, state.href) for state in answer.context["states"]}
    assert {name: rows for name, (rows, _href) in shown.items() if rows} == {"QUEUED": 1, "COMPLETED": 3, "FAILED": 2}
    for rows, href in shown.values():
        assert f'href="{href.replace("&", "&amp;")}"' in answer.text
        assert len(viewer.get(href).context["cl"].result_list) == rows
    chart = answer.context["chart"]
    assert (chart.totals["well"], chart.totals["badly"]) == (3, 2)
    assert f"{ROWS}?site={site.pk}&amp;status=FAILED&amp;from=" in answer.text


def test_the_tabs_are_the_same_on_all_pages_of_a_site(viewer, site) -> None:
    pages = ["change", "ads-script", "credentials", "google-counts", "members", "settings"]

    for name in pages:
        shown = viewer.get(f"{LIST}{site.pk}/{name}/").text
        (tabs,) = re.findall(r'<nav class="kilit-tabs".*?</nav>', shown, re.DOTALL)
        assert re.findall(rf"{site.pk}/([\w-]+)/", tabs) == pages
        assert re.search(rf'{name}/"\s+aria-current="page"', tabs)
        assert "Pause the site" not in shown, "viewers do nothing"


def test_pause_is_in_the_header_of_every_page(operator, site) -> None:
    for name in ("change", "ads-script", "credentials", "settings"):
        assert f'action="{LIST}{site.pk}/pause/"' in operator.get(f"{LIST}{site.pk}/{name}/").text
    Site.objects.update(is_paused=True, pause_reason="wrong prices")

    shown = overview(operator, site).text
    assert f'action="{LIST}{site.pk}/resume/"' in shown
    assert 'name="reason" value="wrong prices"' in shown


def test_a_new_site_has_a_checklist_until_its_first_export(admin, site) -> None:
    begun = {
        "Settings": True,
        "Issue a key": False,
        "Copy the script into Google Ads": False,
        "First request": False,
        "First export": False,
    }
    assert steps(admin, site) == begun

    site.issue_key(name="Ads Script")
    assert steps(admin, site) == {**begun, "Issue a key": True}
    for _ in range(2):
        assert admin.post(f"{LIST}{site.pk}/ads-script/copied/").status_code == 204
    assert steps(admin, site)["Copy the script into Google Ads"]
    assert text_of(admin, f"{LIST}{site.pk}/history/").count("Copied the script.") == 1
    ApiKey.objects.update(used_at=now())
    assert steps(admin, site)["First request"]

    site.note_export()
    assert steps(admin, site) == {}
    assert "First steps" not in overview(admin, site).text


def test_the_checklist_of_an_api_site_ends_with_its_first_upload(make_person, make_site) -> None:
    site = make_site(sync_method=SyncMethod.API)
    admin = make_person(role="admin", sites={site: "admin"})
    assert list(steps(admin, site).values()) == [True, False, False, False, False]

    Credentials.objects.store(site, account()).note_check(passed=True, report=[])
    assert steps(admin, site)["Pass the connection test"]
    sent(site)

    assert steps(admin, site) == {}


def test_a_failed_connection_test_is_seen_in_the_list_and_on_the_dashboard(make_person, make_site) -> None:
    site = make_site(sync_method=SyncMethod.API)
    operator = make_person(sites={site: "operator"})
    stored = Credentials.objects.store(site, account())
    stored.note_check(passed=True, report=[])
    assert "onnection test" not in text_of(operator, LIST) + text_of(operator)

    stored.note_check(passed=False, report=[{"what": "Login", "message": "INVALID_GRANT", "passed": False}])

    assert "connection test failed" in text_of(operator, LIST)
    assert "Mobilya: the connection test failed" in text_of(operator)
    assert f'href="{LIST}{site.pk}/credentials/"' in operator.get("/admin/").text
    assert "onnection test" not in text_of(make_person("ali")), "only members see it"


def test_the_page_takes_as_many_queries_for_many_rows_as_for_few(admin_client, make_site) -> None:
    site = make_site(last_export_at=now())

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            overview(admin_client, site)
        return len(captured.captured_queries)

    queries()  # what Django remembers for the life of a process
    few = queries()
    make_conversions(site, well=3, badly=30, waiting=20)
    make_conversions(make_site(name="Rakip"), badly=5)

    assert queries() == few
    assert Conversion.objects.count() == 58
