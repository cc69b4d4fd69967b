"""What is sent to the Data Manager API: which rows together, in which bytes, and how long it may take."""

import json
import logging
import threading
from datetime import datetime
from decimal import Decimal
from itertools import chain
from zoneinfo import ZoneInfo

import pytest

from ociqueue.models import Circuit, Conversion, Credentials, Receipt, Site
from ociqueue.models.credentials import normalize_service_account
from ociqueue.uploader.datamanager import provider as provider_module
from ociqueue.uploader.datamanager.provider import MOST_EVENTS, ingest_body, split_requests
from ociqueue.uploader.upload_run import upload_due
from simulators.datamanager.refusals import invalid, permission_denied
from simulators.datamanager.server import accept, cut_before, held, refuse
from tests.support.commands import output_of
from tests.support.guarded_columns import write_unguarded
from tests.support.service_accounts import service_account
from tests.support.uploads import account, states, upload_once

pytestmark = pytest.mark.django_db(transaction=True)

OTHER_ACTION = {"conversion_actions": {"Teklif": "customers/1234567890/conversionActions/8"}}


def row(**columns):
    values = {
        "action": "Satış",
        "gclid": "Cj0-KEY",
        "conversion_time": datetime(2026, 3, 1, 2, 30, tzinfo=ZoneInfo("Europe/Istanbul")),
        "value": Decimal("10.500"),
        "currency": "TRY",
        "order_id": "oci_1",
        "consent_ad_user_data": "UNSPECIFIED",
        "consent_ad_personalization": "UNSPECIFIED",
        "send_alone": False,
    }
    return Conversion(**{**values, **columns})


def test_the_body_of_a_request() -> None:
    body = ingest_body(account(login_customer_id="1112223333"), [row()], validate_only=False)

    assert json.loads(body) == {
        "destinations": [
            {
                "operatingAccount": {"accountType": "GOOGLE_ADS", "accountId": "1234567890"},
                "loginAccount": {"accountType": "GOOGLE_ADS", "accountId": "1112223333"},
                "productDestinationId": "7",
            }
        ],
        "events": [
            {
                "transactionId": "oci_1",
                "eventTimestamp": "2026-02-28T23:30:00Z",
                "adIdentifiers": {"gclid": "Cj0-KEY"},
                "conversionValue": 10.5,
                "currency": "TRY",
                "eventSource": "WEB",
            }
        ],
    }


@pytest.mark.parametrize(
    ("columns", "sent"),
    [
        ({"consent_ad_user_data": "GRANTED"}, {"adUserData": "CONSENT_GRANTED"}),
        ({"consent_ad_personalization": "DENIED"}, {"adPersonalization": "CONSENT_DENIED"}),
        (
            {"consent_ad_user_data": "DENIED", "consent_ad_personalization": "GRANTED"},
            {"adUserData": "CONSENT_DENIED", "adPersonalization": "CONSENT_GRANTED"},
        ),
    ],
)
def test_consent_is_sent_as_far_as_it_was_given(columns, sent) -> None:
    (event,) = json.loads(ingest_body(account(), [row(**columns)], validate_only=True))["events"]

    assert event["consent"] == sent


def test_each_kind_of_click_id_has_its_own_field() -> None:
    rows = [row(gclid="", wbraid="w"), row(gclid="", gbraid="g")]
    events = json.loads(ingest_body(account(), rows, validate_only=False))["events"]

    assert [event["adIdentifiers"] for event in events] == [{"wbraid": "w"}, {"gbraid": "g"}]


def test_a_request_has_at_most_two_thousand_events() -> None:
    rows = [row(order_id=f"oci_{number}") for number in range(MOST_EVENTS + 1)]

    requests = list(split_requests(account(), rows))

    assert [len(sent) for sent in requests] == [2000, 1]
    assert [one.order_id for one in chain(*requests)] == [one.order_id for one in rows]


def test_rows_of_one_action_go_together_and_singled_out_rows_alone(data_manager, make_dm_site, make_rows) -> None:
    site = make_dm_site(login=OTHER_ACTION)
    make_rows(site, "a", "b", action="Satış")
    make_rows(site, "c", "d", action="Teklif")
    make_rows(site, "e", "f", action="Satış")
    Conversion.objects.filter(gclid__in=["e", "f"]).update(send_alone=True)

    upload_due()

    sent = [[event["adIdentifiers"]["gclid"] for event in call.events] for call in data_manager.uploads]
    assert sent == [["a", "b"], ["c", "d"], ["e"], ["f"]]
    clicks = dict(Conversion.objects.values_list("pk", "gclid"))
    receipts = Receipt.objects.order_by("received_at", "id")
    assert sorted([clicks[pk] for pk in receipt.row_ids] for receipt in receipts) == sent
    assert not Conversion.objects.filter(send_alone=True).exists()
    assert set(states(site)) == {"UPLOADED"}


def test_the_same_rows_give_the_same_bytes_whatever_changed_meanwhile(dm_site, make_rows) -> None:
    make_rows(dm_site, count=3)
    rows = list(Conversion.objects.order_by("created_at", "id"))
    before = ingest_body(account(), rows, validate_only=False)

    Site.objects.update(time_zone="Asia/Tokyo")
    write_unguarded(Conversion.objects.all(), attempt_count=3, outcome_unknown=True)

    assert ingest_body(account(), list(Conversion.objects.order_by("created_at", "id")), validate_only=False) == before


def test_a_service_account_logs_in_at_our_token_address(data_manager, dm_site, make_rows) -> None:
    key = normalize_service_account(service_account(token_uri="http://127.0.0.1:1/evil"))
    Credentials.objects.store(dm_site, account(client_id="", client_secret="", refresh_token="", service_account=key))
    make_rows(dm_site, "one")

    upload_due()

    assert states(dm_site) == ["UPLOADED"]
    assert data_manager.uploads[0].client == "kilit@a-project.iam.gserviceaccount.com"


def test_a_service_account_logs_in_to_the_google_ads_api_too(google, make_site, make_rows) -> None:
    site = make_site(sync_method="api")
    key = normalize_service_account(service_account())
    Credentials.objects.store(site, account(client_id="", client_secret="", refresh_token="", service_account=key))
    make_rows(site, "one")

    upload_due()

    assert states(site) == ["COMPLETED"]


def test_a_revoked_login_claims_nothing(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "one")
    data_manager.login = "invalid_grant"

    upload_due()

    assert states(dm_site) == ["QUEUED"]
    assert Circuit.objects.open().get().code == "INVALID_GRANT"
    assert not data_manager.uploads


def test_a_file_of_passwords_does_not_replace_the_login(
    data_manager, dm_site, make_rows, tmp_path, monkeypatch
) -> None:
    """`requests` would send what ~/.netrc has for the host instead of our token."""
    (tmp_path / "netrc").write_text("default login intruder password intruder\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    make_rows(dm_site, "one")

    upload_due()

    assert states(dm_site) == ["UPLOADED"]


def test_an_answer_that_does_not_come_in_time_is_lost(data_manager, dm_site, make_rows, settings) -> None:
    settings.GOOGLE_ADS_TIMEOUT = provider_module.SHORTEST_CALL + 0.2
    released = threading.Event()
    data_manager.replies.append(held(released))
    make_rows(dm_site, count=2)

    upload_due()
    released.set()

    assert set(Conversion.objects.values_list("status", "outcome_unknown", "provider_error_code")) == {
        ("RETRY", True, "NO_ANSWER")
    }


def test_rows_whose_turn_does_not_come_in_time_keep_their_attempt(
    data_manager, make_dm_site, make_rows, settings, monkeypatch
) -> None:
    site = make_dm_site(login=OTHER_ACTION)
    make_rows(site, "a", action="Satış")
    make_rows(site, "b", action="Teklif")

    def slowly(call):
        monkeypatch.setattr(provider_module, "SHORTEST_CALL", settings.GOOGLE_ADS_TIMEOUT)  # what is left is less
        return accept(call)

    data_manager.replies.append(slowly)

    upload_once(site)

    assert list(Conversion.objects.order_by("gclid").values_list("status", "attempts_forgiven")) == [
        ("UPLOADED", 0),
        ("RETRY", 1),
    ]


def test_rows_that_are_refused_slowly_pay(data_manager, dm_site, make_rows, settings, monkeypatch) -> None:
    """Otherwise a slow refusal would be sent again and again."""

    def slowly(call):
        monkeypatch.setattr(provider_module, "SHORTEST_CALL", settings.GOOGLE_ADS_TIMEOUT)  # what is left is less
        raise invalid()

    data_manager.replies.append(slowly)
    make_rows(dm_site, count=4)

    upload_once(dm_site)

    assert set(Conversion.objects.values_list("status", "attempts_forgiven")) == {("RETRY", 0)}


@pytest.mark.parametrize(("reply", "forgiven"), [(cut_before, [0, 1]), (refuse(permission_denied()), [1, 1])])
def test_after_an_outage_or_a_fault_of_the_account_the_other_requests_wait(
    data_manager, make_dm_site, make_rows, reply, forgiven
) -> None:
    site = make_dm_site(login=OTHER_ACTION)
    make_rows(site, "a", action="Satış")
    make_rows(site, "b", action="Teklif")
    data_manager.upload_reply = reply

    upload_once(site)

    assert len(data_manager.uploads) == 1
    rows = Conversion.objects.order_by("gclid").values_list("status", "attempts_forgiven")
    assert list(rows) == [("RETRY", number) for number in forgiven]


def test_a_dry_run_validates_each_row_and_writes_nothing(data_manager, dm_site, make_rows, sql) -> None:
    good, bad = make_rows(dm_site, "good", "REFUSE-INVALID_FORMAT-1")
    before = sql("SELECT * FROM offline_conversion_queue ORDER BY id")

    printed = output_of("oci_upload", "--dry-run")

    assert f"{good} would be accepted" in printed
    assert f"{bad} would not: INVALID_FORMAT (VALIDATION, FATAL)" in printed
    assert all(json.loads(call.body)["validateOnly"] for call in data_manager.uploads)
    assert sql("SELECT * FROM offline_conversion_queue ORDER BY id") == before
    assert not data_manager.entries


def test_nothing_that_was_sent_is_logged(data_manager, dm_site, make_rows, caplog) -> None:
    make_rows(dm_site, "a-click-id", "REFUSE-INVALID_FORMAT-1")
    with caplog.at_level(logging.DEBUG):
        upload_due()

    for secret in ("a-click-id", "a-token", "refresh-token-word", "client-secret-word"):
        assert secret not in caplog.text
