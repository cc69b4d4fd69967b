"""Senders of sites by API, by the rules of their pages, and what a key reads of them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.workers.models import Heartbeat
from ociqueue.models import Circuit, Conversion, ReadBack, Site
from ociqueue.states import Category, SyncMethod
from tests.support.agency import agency_api, make_admin
from tests.support.api import Api
from tests.support.api_conformance import check
from tests.support.credentials_form import is_rung

pytestmark = pytest.mark.django_db


@pytest.fixture
def agency(site: Site) -> Api:
    return agency_api(make_admin(sites={site: "admin"}))


@pytest.fixture
def foreign(make_site: Callable[..., Site]) -> Site:
    return make_site(name="Foreign")


def change(api: Api, *sites: Any, sender: str = "datamanager", status: int = 200, **more: Any) -> Any:
    names = [getattr(site, "public_id", site) for site in sites]
    answer = api.post("oci/sites/sender", {"sites": names, "sender": sender, **more})
    assert check("POST", "/api/oci/sites/sender", answer)
    assert answer.status_code == status, answer.content
    return answer.json()


def senders() -> list[str]:
    return list(Site.objects.order_by("pk").values_list("sync_method", flat=True))


def test_a_sender_is_changed_with_a_record_and_the_same_again_changes_nothing(
    agency: Api, site: Site, django_capture_on_commit_callbacks: Any
) -> None:
    Heartbeat.objects.create(name="w1", alive_at=Now())

    with django_capture_on_commit_callbacks(execute=True):
        (result,) = change(agency, site)["results"]
    again = change(agency, site)

    assert (result["status"], result["before"], result["after"]) == ("changed", "script", "datamanager")
    assert again["unchanged"] == 1
    assert senders() == [SyncMethod.DATA_MANAGER]
    (text,) = LogEntry.objects.values_list("change_message", flat=True)
    assert text.startswith("Changed the sender from script to datamanager. With the API key provisioning (…")
    assert is_rung("oci_upload")


def test_open_rows_need_a_confirmation_and_keep_all_sites_as_they_are(
    admin_user: User, make_site: Callable[..., Site], make_conversion: Any
) -> None:
    root = agency_api(admin_user)
    idle, busy = make_site(name="Idle"), make_site(name="Busy")
    make_conversion(busy)
    Conversion.objects.claim(limit=1)

    refused = change(root, idle, busy, status=409)["error"]

    assert [each["field"] for each in refused["fields"]] == ["sites.1"]
    assert "1 PROCESSING" in refused["message"]
    assert senders() == ["script", "script"]
    confirmed = change(root, idle, busy, confirmOpenRows=True)
    assert [each["openRows"]["processing"] for each in confirmed["results"]] == [0, 1]
    assert senders() == ["datamanager", "datamanager"]
    assert "with unsettled rows: 1 PROCESSING" in LogEntry.objects.get(object_id=str(busy.pk)).change_message


def test_a_dry_run_changes_no_sender(agency: Api, site: Site) -> None:
    assert change(agency, site, dryRun=True)["changed"] == 1
    assert senders() == ["script"]


def test_another_site_is_like_an_unknown_one_and_nothing_is_changed(agency: Api, site: Site, foreign: Site) -> None:
    answers = [change(agency, site, each, status=400) for each in (foreign, "f" * 32)]

    assert answers[0] == answers[1]
    assert answers[0]["error"]["fields"][0]["field"] == "sites.1"
    assert senders() == ["script", "script"]


@pytest.mark.parametrize("sender", ["SCRIPT", "", None, 5, "fax"])
def test_an_unknown_sender_is_refused(agency: Api, site: Site, sender: Any) -> None:
    error = change(agency, site, sender=sender, status=400)["error"]

    assert error["fields"][0]["field"] == "sender"


def test_who_may_not_change_the_site_on_its_page_does_not_by_key(agency: Api, site: Site) -> None:
    User.objects.get(username="agency").groups.set(Group.objects.filter(name="operator"))

    change(agency, site, status=403)
    assert agency.get("oci/queue-stats", siteId=site.public_id).status_code == 403
    assert senders() == ["script"]


def test_a_key_reads_totals_error_rates_and_circuits_of_its_users_sites(
    agency: Api, site: Site, foreign: Site, make_conversion: Any
) -> None:
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.API)
    make_conversion(site)
    make_conversion(foreign)
    for action in ("", "Teklif"):
        Circuit.objects.trip(site, action=action, code="X", category=Category.AUTH, reason="Closed.")

    answer = agency.get("oci/queue-stats", scope="multi")

    assert check("GET", "/api/oci/queue-stats", answer)
    stats = answer.json()
    assert [each["siteId"] for each in stats["sites"]] == [site.public_id]
    assert stats["totals"]["QUEUED"] == 1
    (own,) = stats["sites"]
    assert (own["errorRate"], own["needsCredentials"], own["circuit"]["code"]) == (None, True, "X")
    assert [each["conversionName"] for each in own["circuits"]] == ["", "Teklif"]


def test_a_key_reads_googles_counts_by_action(agency: Api, site: Site) -> None:
    row = {
        "day": "2026-11-15",
        "name": "Teklif",
        "action": "7",
        "accepted": 5,
        "failed": 1,
        "due": 5,
        "unknown": 0,
        "elsewhere": 0,
        "google": {"successful": 3, "failed": 0, "pending": 0},
        "findings": ["MISSING"],
    }
    ReadBack.objects.note(site, days=[row], differs=True, compared_at=datetime.now(UTC))

    answer = agency.get("oci/google-counts", siteId=site.public_id)

    assert check("GET", "/api/oci/google-counts", answer)
    (action,) = answer.json()["actions"]
    assert (action["action"], action["accepted"], action["google"]["successful"]) == ("Teklif", 5, 3)
    assert answer.json()["differs"] is True


def test_a_key_lists_and_acts_on_rows_and_their_events_name_it(agency: Api, site: Site, make_conversion: Any) -> None:
    row = make_conversion(site)

    listed = agency.get("oci/queue-rows", siteId=site.public_id).json()["rows"]
    acted = agency.post(
        "oci/queue-actions",
        {"siteId": site.public_id, "action": "MARK_FAILED", "ids": [str(row)], "reason": "A test order."},
    )

    assert [each["id"] for each in listed] == [str(row)]
    assert acted.json()["affected"] == 1
    event = Event.objects.of(row).last()
    assert event.actor == "key:agency"
    assert event.message.startswith("A test order. With the API key provisioning (…")


@pytest.mark.parametrize("path", ["queue-stats", "queue-rows", "google-counts", "credentials"])
def test_a_key_reads_nothing_of_sites_that_its_user_does_not_administer(agency: Api, foreign: Site, path: str) -> None:
    foreign.memberships.create(user=User.objects.get(username="agency"), role="operator")

    answers = [agency.get(f"oci/{path}", siteId=each) for each in (foreign.public_id, "f" * 32)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
