"""Conversions whose visitors denied consent: each site decides whether they are sent; by default they are not."""

from typing import Any

import pytest
from django.urls import reverse

from kilit.lock.models import Event
from kilit.workers.sweeps import run as run_sweep
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.operating.site_health import site_health
from ociqueue.states import DeniedConsent
from ociqueue.uploader.upload_run import due_sites
from tests.support.conversions import ending
from tests.support.dashboard import text_of
from tests.support.redelivered import ORDER, fail, only, send
from tests.support.uploads import account

pytestmark = pytest.mark.django_db

WITHHELD = ("FAILED", "WITHHELD_CONSENT_DENIED", "PERMANENT")


def post(api: Any, site: Site, *conversions: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"siteId": site.public_id, "conversions": [{**ORDER, **each} for each in conversions], **more}
    return api.post("oci/conversions", body).json()


def test_a_denied_conversion_ends_at_entry_and_the_answer_says_so(api, site) -> None:
    answer = post(api, site, {"consent": "DENIED"}, {"sourceKey": "order-1002", "consent": "GRANTED"})

    denied = only(source_key="order-1001")
    assert (answer["created"], answer["withheld"]) == (2, 1)
    assert answer["results"][0] == {
        "index": 0,
        "status": "created",
        "id": str(denied),
        "state": "FAILED",
        "errorCode": "WITHHELD_CONSENT_DENIED",
    }
    assert answer["results"][1].keys() == {"index", "status", "id"}
    assert ending(denied) == WITHHELD
    assert [event.details.get("verb") for event in Event.objects.of(denied)] == [None, "withhold"]
    assert [item["consentAdUserData"] for item in api.claim(site)] == ["GRANTED"]


def test_a_dry_run_says_that_it_would_be_withheld(api, site) -> None:
    answer = post(api, site, {"consent": "DENIED"}, dryRun=True)

    assert answer["withheld"] == 1
    assert answer["results"][0] == {
        "index": 0,
        "status": "created",
        "state": "FAILED",
        "errorCode": "WITHHELD_CONSENT_DENIED",
    }
    assert not Conversion.objects.exists()


def test_personalization_alone_that_is_denied_is_still_sent(api, site) -> None:
    answer = post(api, site, {"consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"})

    assert answer["withheld"] == 0
    (item,) = api.claim(site)
    assert (item["consentAdUserData"], item["consentAdPersonalization"]) == ("GRANTED", "DENIED")


def test_a_site_may_send_denied_conversions_with_their_consent(api, site) -> None:
    Site.objects.update(denied_consent=DeniedConsent.SEND)

    answer = post(api, site, {"consent": "DENIED"})

    assert answer["withheld"] == 0
    (item,) = api.claim(site)
    assert (item["consentAdUserData"], item["consentAdPersonalization"]) == ("DENIED", "DENIED")


def test_denied_rows_that_wait_are_neither_exported_nor_previewed_and_the_sweep_ends_them(
    api, site, make_conversion
) -> None:
    """They were stored by the version before, or while the site sent them."""
    denied, other = make_conversion(site, consent_ad_user_data="DENIED"), make_conversion(site)

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()
    exported = api.claim(site)
    result = run_sweep("oci_end_unsendable")

    assert [item["id"] for item in preview["items"]] == [item["id"] for item in exported] == [str(other)]
    assert preview["counts"] == {"queued": 1, "skipped": 1}
    assert preview["warnings"] == ["1 rows are withheld because consent was denied; the next sweep ends them."]
    assert result == "Withheld 1, expired 0, retracted 0."
    assert ending(denied) == WITHHELD
    assert Event.objects.of(denied).last().actor == "sweep:oci_end_unsendable"


@pytest.mark.parametrize("sender", ["api", "datamanager"])
def test_uploaders_obey_the_same_setting(make_site, make_conversion, sender: str) -> None:
    site = make_site(sync_method=sender)
    make_conversion(site, consent_ad_user_data="DENIED")
    rows = Conversion.objects.for_site(site)

    assert list(rows.due()) == rows.claim(limit=10, sender=sender) == []
    Site.objects.update(denied_consent=DeniedConsent.SEND)
    assert len(rows.claim(limit=10, sender=sender)) == 1


def test_no_bell_rings_for_rows_that_are_withheld(make_site, make_conversion) -> None:
    site = make_site(sync_method="api")
    Credentials.objects.store(site, account())
    make_conversion(site, consent_ad_user_data="DENIED")

    assert not due_sites().exists()


def test_another_sites_choice_changes_nothing(make_site, make_conversion) -> None:
    sends, withholds = make_site(denied_consent=DeniedConsent.SEND), make_site()
    sent, withheld = (make_conversion(site, consent_ad_user_data="DENIED") for site in (sends, withholds))

    Conversion.objects.sweep_withheld()

    assert (ending(sent)[0], ending(withheld)) == ("QUEUED", WITHHELD)


def test_withheld_rows_are_in_no_rate_and_raise_no_alarm(site, api) -> None:
    post(api, site, *({"sourceKey": f"order-{n}", "consent": "DENIED"} for n in range(60)))

    health = site_health([site])[site.pk]
    assert (health.totals["FAILED"], health.error_rate, health.is_alarming) == (60, None, False)


def test_a_denied_conversion_that_is_granted_later_is_sent(api, site) -> None:
    post(api, site, {"consent": "DENIED"})

    answer = post(api, site, {"consent": "GRANTED"})

    (result,) = answer["results"]
    assert (result["status"], result["state"], answer["withheld"]) == ("corrected", "QUEUED", 0)
    assert result["differs"] == ["consentAdUserData", "consentAdPersonalization"]
    assert [item["id"] for item in api.claim(site)] == [result["id"]]


def test_a_conversion_that_waits_and_is_denied_later_is_withheld(api, site) -> None:
    post(api, site, {"consent": "GRANTED"})

    answer = post(api, site, {"consent": "DENIED"})

    (result,) = answer["results"]
    assert (result["status"], result["state"], result["errorCode"]) == ("corrected", "FAILED", WITHHELD[1])
    assert answer["withheld"] == 1
    assert ending(only()) == WITHHELD
    assert api.claim(site) == []


def test_a_conversion_that_failed_and_is_denied_later_is_not_sent_again(api, site) -> None:
    post(api, site, {"gclid": "broken"})
    fail()

    (result,) = post(api, site, {"consent": "DENIED"})["results"]

    assert (result["status"], result["errorCode"]) == ("corrected", WITHHELD[1])
    assert ending(only(gclid=ORDER["gclid"])) == WITHHELD


def test_a_retry_is_refused_until_the_site_sends_such_rows(site) -> None:
    send(site, consent="DENIED")

    refused = Conversion.objects.retry_selected() | Conversion.objects.reset_to_queued()
    Site.objects.update(denied_consent=DeniedConsent.SEND)
    allowed = Conversion.objects.retry_selected()

    assert (refused, len(allowed)) == (set(), 1)
    assert len(Conversion.objects.claim(limit=10)) == 1


def test_a_retry_in_bulk_says_why_it_skips_them(site, admin_client) -> None:
    send(site, consent="DENIED")
    row = only()

    answer = admin_client.post(
        reverse("admin:ociqueue_conversion_changelist"),
        {"action": "retry", "_selected_action": [str(row.pk)]},
        follow=True,
    )

    assert "consent was denied" in answer.text


def test_the_page_of_a_withheld_row_says_why_and_offers_the_setting(site, admin_client) -> None:
    send(site, consent="DENIED")

    page = text_of(admin_client, f"/admin/ociqueue/conversion/{only().pk}/change/")

    assert "Not sent: the visitor denied consent." in page
    assert "Not sent, because the visitor denied consent" in page


def test_the_page_of_a_denied_row_that_waits_says_what_happens(site, make_conversion, admin_client) -> None:
    row = make_conversion(site, consent_ad_user_data="DENIED")

    page = text_of(admin_client, f"/admin/ociqueue/conversion/{row.pk}/change/")

    assert "The visitor denied consent, and the site does not send such conversions" in page


def test_the_setting_is_on_the_sites_page_and_its_change_is_in_the_history(site, admin_client) -> None:
    address = f"/admin/ociqueue/site/{site.pk}/settings/"
    shown = {"name": site.name, "time_zone": site.time_zone, "default_currency": "TRY", "sync_method": "script"}
    before = {f"initial-{name}": value for name, value in {**shown, "denied_consent": "WITHHOLD"}.items()}

    assert "Send them, marked as denied" in text_of(admin_client, address)
    answer = admin_client.post(address, {**shown, **before, "denied_consent": "SEND"})

    assert answer.status_code == 302
    site.refresh_from_db()
    assert site.denied_consent == DeniedConsent.SEND
    assert "if consent is denied" in text_of(admin_client, f"/admin/ociqueue/site/{site.pk}/history/").lower()


def test_the_export_of_failed_rows_has_the_consent_and_the_reason(site, admin_client) -> None:
    send(site, consent="DENIED")

    lines = b"".join(admin_client.get("/admin/ociqueue/conversion/dead-letters/").streaming_content).decode()

    assert "DENIED" in lines
    assert "WITHHELD_CONSENT_DENIED" in lines
