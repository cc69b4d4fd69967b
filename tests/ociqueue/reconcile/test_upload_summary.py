"""Google's counts from a script: what is stored, and what is answered to bad input."""

import pytest

from ociqueue.models import ReadBack, Site, UploadSummary
from ociqueue.reconcile import run
from ociqueue.states import SyncMethod

pytestmark = pytest.mark.django_db

PATH = "oci/upload-summary"
DAY = {
    "day": "2026-11-15",
    "actionId": "7",  # as Google's runtime gives large numbers
    "actionName": "Satış",
    "client": "GOOGLE_ADS_WEB_CLIENT",
    "successful": 12,
    "failed": 1,
    "pending": 0,
}
ALERT = {"error": "CLICK_NOT_FOUND", "share": 0.25, "client": "GOOGLE_ADS_WEB_CLIENT", "action": "Satış"}


def body(site: Site, *days: dict[str, object], **values: object) -> dict[str, object]:
    account = {"customerId": "123-456-7890", "timeZone": "Europe/Istanbul"}
    return {"siteId": site.public_id, **account, "days": list(days), **values}


def test_the_numbers_are_stored_and_compared(api, site) -> None:
    answer = api.post(PATH, body(site, DAY, {**DAY, "client": "GOOGLE_ADS_API"}, alerts=[ALERT]))

    assert (answer.status_code, answer.json()) == (200, {"ok": True, "stored": 2})
    stored = ReadBack.objects.get()
    assert (stored.customer_id, stored.time_zone, stored.error) == ("1234567890", "Europe/Istanbul", "")
    assert stored.alerts == [ALERT]
    row = UploadSummary.objects.get(client="GOOGLE_ADS_WEB_CLIENT")
    assert (str(row.upload_date), row.action_id, row.action_name) == ("2026-11-15", 7, "Satış")
    assert (row.successful, row.failed, row.pending) == (12, 1, 0)
    assert list(run.due_sites()) == [site]
    run.handle_bell()
    assert not run.due_sites().exists()


def test_the_same_request_may_be_sent_again_and_a_newer_one_replaces_it(api, site) -> None:
    api.post(PATH, body(site, DAY))
    api.post(PATH, body(site, DAY))
    assert UploadSummary.objects.get().successful == 12

    api.post(PATH, body(site, {**DAY, "day": "2026-11-16", "successful": 13}))
    assert [(str(row.upload_date), row.successful) for row in UploadSummary.objects.all()] == [("2026-11-16", 13)]


BAD = [
    ("days", [{**DAY, "day": "yesterday"}], "days.0.day"),
    ("days", [{**DAY, "successful": -1}], "days.0.successful"),
    ("days", [{**DAY, "failed": "many"}], "days.0.failed"),
    ("days", [{**DAY, "pending": 2**60}], "days.0.pending"),
    ("days", [{**DAY, "actionId": 0}], "days.0.actionId"),
    ("days", [{**DAY, "actionName": ""}], "days.0.actionName"),
    ("days", [DAY, {key: value for key, value in DAY.items() if key != "client"}], "days.1.client"),
    ("days", [DAY, DAY], "is listed 2 times"),
    ("customerId", "12", "ten digits"),
    ("timeZone", "Europe/Atlantis", "Expected a time zone"),
    ("alerts", [{**ALERT, "share": 25}], "share"),
    ("alerts", "none", "alerts"),
]


@pytest.mark.parametrize(("name", "value", "expected"), BAD)
def test_a_bad_value_is_named_and_nothing_is_stored(api, site, name, value, expected) -> None:
    answer = api.post(PATH, {**body(site, DAY), name: value})

    assert answer.status_code == 400
    assert expected in str(answer.json())
    assert not UploadSummary.objects.exists()
    assert not ReadBack.objects.exists()


def test_only_script_sites_send_them(api, site) -> None:
    Site.objects.update(sync_method=SyncMethod.API)

    answer = api.post(PATH, body(site, DAY))

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "NOT_A_SCRIPT_SITE")
    assert not UploadSummary.objects.exists()


def test_other_sites_are_not_found(api, site, make_site) -> None:
    assert api.post(PATH, body(make_site(name="Other"), DAY)).status_code == 404
