"""Hashed e-mail and phone in requests to the Data Manager API, and verdicts on them."""

import json
from typing import Any

import pytest

from kilit.batches.queues import Queue
from ociqueue.models import Conversion, Credentials
from ociqueue.operating.site_health import site_health
from ociqueue.uploader.connection_test import check
from ociqueue.uploader.datamanager import provider as requests
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from simulators.datamanager.refusals import Violation
from tests.support.uploads import account, states

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL, EMAIL_ADS, PHONE = "a" * 64, "b" * 64, "c" * 64


def bodies(data_manager: Any) -> list[dict[str, Any]]:
    return [json.loads(call.body) for call in data_manager.uploads]


def test_hashes_are_sent_beside_the_click_id_or_alone(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "Cj1", hashed_email=EMAIL, hashed_email_ads=EMAIL_ADS, hashed_phone=PHONE)
    make_rows(dm_site, "", hashed_phone=PHONE)

    upload_due()

    (body,) = bodies(data_manager)
    assert body["encoding"] == "HEX"
    by_click = {event.get("adIdentifiers", {}).get("gclid", ""): event["userData"] for event in body["events"]}
    assert by_click == {
        "Cj1": {"userIdentifiers": [{"emailAddress": EMAIL}, {"phoneNumber": PHONE}]},
        "": {"userIdentifiers": [{"phoneNumber": PHONE}]},
    }
    assert states(dm_site) == ["UPLOADED"] * 2


def test_a_request_without_hashes_is_as_before(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "Cj0")

    upload_due()

    (body,) = bodies(data_manager)
    assert body.keys() == {"destinations", "events"}
    assert "userData" not in body["events"][0]


def test_a_person_without_a_click_is_in_no_failure_rate(data_manager, dm_site, make_rows, let_time_pass) -> None:
    hashes = [f"{number:064x}" for number in range(Queue.fewest_ended)]
    for hashed in hashes:
        make_rows(dm_site, "", hashed_email=hashed)
    make_rows(dm_site, "Cj0", hashed_email=EMAIL)
    data_manager.verdicts = {name: ["CLICK_NOT_FOUND"] for name in (*hashes, "Cj0")}
    upload_due()
    let_time_pass()

    ask_for_verdicts()

    found = Conversion.objects.order_by("gclid").values_list("provider_error_code", flat=True)
    assert list(found) == ["USER_DATA_NOT_MATCHED"] * Queue.fewest_ended + ["CLICK_NOT_FOUND"]
    assert site_health([dm_site])[dm_site.pk].recently_ended["EXPECTED_FAILURE"] == Queue.fewest_ended


def test_a_hash_that_the_data_manager_quotes_is_not_stored(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "", hashed_email=EMAIL)
    data_manager.refusals[EMAIL] = Violation("user_data", "INVALID_FORMAT", f"Bad value {EMAIL}")

    upload_due()

    row = Conversion.objects.get()
    assert (row.provider_error_code, EMAIL in row.last_error) == ("INVALID_FORMAT", False)


@pytest.mark.parametrize(
    ("hashes", "code"),
    [({"emailAddress": "jane@example.com"}, "INVALID_HEX_ENCODING"), ({"phoneNumber": "abc"}, "INVALID_SHA256_FORMAT")],
)
@pytest.mark.usefixtures("data_manager")
def test_the_server_checks_hashes(dm_site, make_rows, monkeypatch, hashes, code) -> None:
    make_rows(dm_site, "", hashed_email=EMAIL)
    made = requests.event
    monkeypatch.setattr(requests, "event", lambda row: made(row) | {"userData": {"userIdentifiers": [hashes]}})

    upload_due()

    assert Conversion.objects.get().provider_error_code == code


@pytest.mark.parametrize("accepts", [True, False])
def test_the_connection_test_names_what_hashes_need(data_manager, google, make_dm_site, settings, accepts) -> None:
    settings.GOOGLE_TOKEN_URI = data_manager.environment["KILIT_GOOGLE_TOKEN_URI"]
    site = make_dm_site(accepts_identifiers=accepts)
    Credentials.objects.store(site, account(developer_token="token"))
    google.terms = {"accepted_customer_data_terms": False, "effective_enablement_setting": 2}

    failed = {one.what for one in check(Credentials.objects.get()) if not one.passed}

    assert failed == ({"Customer data terms", "Enhanced conversions"} if accepts else set())
