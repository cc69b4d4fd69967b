"""The page of the activity: who did what, where, and why; each sees their own sites."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kilit.access.models import DenialCode, DeniedRequest
from kilit.lock.audit import acting_as
from kilit.lock.models import Activity
from ociqueue.models import Conversion, Site
from tests.support.bulk_actions import asked, worked
from tests.support.dashboard import make_conversions, make_site
from tests.support.imports import import_file

pytestmark = pytest.mark.django_db

PAGE = "/admin/lock/activity/"


def rows(client: Client, **filters: str) -> list[str]:
    """Return the sentences of the list, newest first."""
    answer = client.get(PAGE, filters)
    assert answer.status_code == 200
    return [row.words.sentence(row) for row in answer.context["cl"].result_list]


def retry(*sites: Site, actor: str = "operator:can", reason: str = "fixed") -> None:
    with acting_as(actor, reason=reason):
        Conversion.objects.filter(site__in=sites).retry_selected()


def moved(client: Client, **filters: str) -> list[str]:
    return [sentence for sentence in rows(client, **filters) if "etried" in sentence]


@pytest.fixture
def ege() -> Site:
    return make_site("Ege")


@pytest.fixture
def anadolu() -> Site:
    return make_site("Anadolu")


@pytest.fixture
def _failures(ege: Site, anadolu: Site) -> None:
    make_conversions(ege, badly=3)
    make_conversions(anadolu, badly=2)


def exported(client: Client, **filters: str) -> list[dict[str, str]]:
    text = client.get(f"{PAGE}export/", filters).getvalue().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("_failures")
def test_a_sweep_is_one_line_that_unfolds_to_its_jobs(admin_client, ege, anadolu) -> None:
    retry(ege, anadolu, actor="sweep:oci_requeue")

    assert moved(admin_client) == ["Retried by the scheduled task oci_requeue · 5 conversions"]
    page = admin_client.get(f"{PAGE}{Activity.objects.get(rows=5).pk}/change/")
    assert len(page.context["jobs"]) == 5
    assert page.text.count("/admin/ociqueue/conversion/") >= 5


def test_one_job_leads_to_its_page(admin_client, ege) -> None:
    make_conversions(ege, badly=1)
    retry(ege)

    html = admin_client.get(PAGE, {"kind": "action"}).text

    assert f'href="/admin/ociqueue/conversion/{Conversion.objects.get().pk}/change/' in html
    assert "fixed" in html


@pytest.mark.usefixtures("_failures")
def test_members_see_their_own_sites_only(make_person, ege, anadolu) -> None:
    member = make_person("ayse", role="viewer", sites=(ege,))

    retry(ege, anadolu, actor="sweep:oci_requeue")
    retry(anadolu, actor="operator:can")

    assert moved(member) == ["Retried by the scheduled task oci_requeue · 3 conversions"]
    (part,) = Activity.objects.filter(scope=str(ege.pk), is_part=True)
    assert len(member.get(f"{PAGE}{part.pk}/change/").context["jobs"]) == 3
    for hidden in Activity.objects.filter(queue="conversion").exclude(pk=part.pk):
        assert member.get(f"{PAGE}{hidden.pk}/change/").status_code == 404


def test_denied_requests_are_for_admins(admin_client, make_person) -> None:
    member = make_person("ayse", role="viewer")
    member.force_login(User.objects.get(username="ayse"))
    DeniedRequest.objects.record(actor="viewer:ayse", method="POST", path="/admin/x/", code=DenialCode.NOT_YOURS)

    assert "Request denied" in rows(admin_client, kind="denied")[0]
    assert rows(member, kind="denied") == []
    assert rows(member, kind="login") == ["Logged in"]


def test_filters_are_chips_and_can_be_combined(admin_client, ege, anadolu) -> None:
    for site in (ege, anadolu):
        make_conversions(site, badly=1)
        retry(site)

    assert len(moved(admin_client, person="can", kind="action", queue="conversion")) == 2
    assert len(moved(admin_client, person="can", site=str(ege.pk))) == 1
    assert moved(admin_client, to="2020-01-01") == []
    assert len(moved(admin_client, **{"from": "2020-01-01"})) == 2
    chips = admin_client.get(PAGE, {"person": "can", "site": str(ege.pk)}).context["cl"].controls.chips()
    assert [chip.label for chip in chips] == ["user name: can", "site: Ege"]


def test_changes_of_a_site_are_in_it(admin_client, ege) -> None:
    form = {"name": "Ads Script", "scopes": ["script"], "after": "none"}
    admin_client.post(f"/admin/ociqueue/site/{ege.pk}/ads-script/issue-key/", form)

    assert rows(admin_client, kind="key") == ["Site Ege · Issued the key Ads Script (script)."]
    assert rows(admin_client, kind="key", site=str(ege.pk)) == ["Site Ege · Issued the key Ads Script (script)."]


def test_personal_data_is_masked(admin_client, ege) -> None:
    make_conversions(ege, badly=1)
    retry(ege, reason="asked by +90 555 123 45 67, can@example.com")

    row = Activity.objects.get(kind="action")

    for address in (PAGE, f"{PAGE}{row.pk}/change/"):
        html = admin_client.get(address).text
        assert "123 45 67" not in html
        assert "c…@example.com" in html


def test_admins_export_what_the_list_shows(admin_client, ege) -> None:
    make_conversions(ege, badly=2)
    retry(ege, reason="asked by +90 555 123 45 67")

    (line,) = exported(admin_client, kind="action")

    assert (line["person"], line["site"], line["rows"], line["reason"]) == ("can", "Ege", "2", "asked by …4567")
    assert datetime.fromisoformat(line["time"]).tzinfo


@pytest.mark.usefixtures("_failures")
def test_an_admin_sees_and_exports_the_activity_of_the_own_sites_only(make_person, ege, anadolu) -> None:
    retry(ege, reason="at the first")
    retry(anadolu, reason="at the second")
    DeniedRequest.objects.record(actor="operator:can", method="GET", path="/admin/x/", code=DenialCode.FORBIDDEN)
    admin = make_person("ayse", role="admin", sites=(ege,))
    of_other = Activity.objects.get(message="at the second")

    lines = exported(admin)

    assert moved(admin) == ["Retried by can · 3 conversions"]
    assert [line["reason"] for line in lines if line["person"] == "can"] == ["at the first"]
    assert rows(admin, site=str(anadolu.pk), kind="action") == []
    assert admin.get(f"{PAGE}{of_other.pk}/change/").status_code == 404
    assert rows(admin, kind="denied") == []


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_do_not_export(make_person, role: str) -> None:
    client = make_person("ayse", role=role)

    assert "Export" not in client.get(PAGE).text
    assert client.get(f"{PAGE}export/").status_code == 403


def test_a_file_is_one_line(admin_client, ege, monkeypatch) -> None:
    monkeypatch.setattr("kilit.csv.reader.BATCH", 2)
    lines = [
        f"Sale,click-{number},{timezone.now() - timedelta(hours=3):%Y-%m-%dT%H:%M:%SZ},5,TRY" for number in range(5)
    ]
    header = "conversionName,gclid,conversionTime,conversionValue,conversionCurrency"

    tally = import_file(ege, "\n".join([header, *lines]).encode(), user=User.objects.create_superuser("can"))

    assert tally.created == 5
    assert rows(admin_client, person="can") == ["Imported by can · 5 conversions"]


@pytest.mark.usefixtures("_failures")
def test_a_bulk_action_is_shown_once_and_at_each_of_its_sites(admin_client, ege, anadolu) -> None:
    worked(asked(admin_client))

    assert [sentence.split(" · ")[0] for sentence in rows(admin_client, queue="bulk_action")] == [
        "Bulk action finished",
        "Bulk action started by admin",
        "Bulk action requested by admin",
    ]
    assert rows(admin_client, queue="conversion") == []
    assert rows(admin_client, site=str(ege.pk)) == ["Bulk action finished · Retry · conversions"]


@pytest.mark.usefixtures("_failures")
def test_it_is_searched_by_person_object_and_id(admin_client, ege, anadolu) -> None:
    retry(ege, actor="operator:can")
    retry(anadolu, actor="operator:Canan")
    site = make_site("Kent")
    make_conversions(site, badly=1)
    retry(site, actor="operator:deniz")
    (retried,) = Conversion.objects.filter(site=site)

    assert len(moved(admin_client, q="CAN")) == 2
    assert len(moved(admin_client, q="canan")) == 1
    assert len(rows(admin_client, q=str(retried.pk))) == 1
    assert rows(admin_client, q="nobody") == []


def test_today_and_yesterday_are_one_click_away(admin_client, ege) -> None:
    make_conversions(ege, badly=1)
    retry(ege)

    def day(label: str) -> str:
        return next(tab.href for tab in admin_client.get(PAGE).context["cl"].controls.tabs() if tab.label == label)

    assert "etried" in admin_client.get(f"{PAGE}{day('Today')}").text
    yesterday = admin_client.get(f"{PAGE}{day('Yesterday')}")
    assert "etried" not in yesterday.text
    assert [tab.label for tab in yesterday.context["cl"].controls.tabs() if tab.is_current] == ["Yesterday"]
