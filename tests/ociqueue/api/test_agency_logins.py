"""Google logins of sites by API: stored, tested, and never answered."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from kilit.workers.models import Heartbeat
from ociqueue.models import Credentials, Site
from ociqueue.states import SyncMethod
from ociqueue.uploader.connection_test import CheckFinding, check_requested
from tests.support.agency import agency_api, make_admin
from tests.support.api import Api
from tests.support.api_conformance import check
from tests.support.credentials_form import is_rung, stored
from tests.support.service_accounts import service_account

pytestmark = pytest.mark.django_db

FULL = {
    "customerId": "555-123-4567",
    "loginCustomerId": "111-222-3333",
    "clientId": "stored-client-id",
    "clientSecret": "stored-client-secret",
    "refreshToken": "stored-refresh-token",
    "developerToken": "stored-developer-token",
    "conversionAction": "7654321",
    "conversionActions": {"Teklif": "7654322", "a = b": "customers/5551234567/conversionActions/7654323"},
}
VALUES = ("5551234567", "1112223333", "7654321", "7654322", "7654323", "stored-", "a = b")


@pytest.fixture
def api_site(make_site: Callable[..., Site]) -> Site:
    return make_site(name="Deniz", sync_method=SyncMethod.API)


@pytest.fixture
def agency(api_site: Site) -> Api:
    return agency_api(make_admin(sites={api_site: "admin"}))


def store(api: Api, site: Any, *, status: int = 200, **parts: Any) -> Any:
    answer = api.post("oci/credentials", {"siteId": getattr(site, "public_id", site), **parts})
    assert check("POST", "/api/oci/credentials", answer)
    assert answer.status_code == status, answer.content
    return answer.json()


def show(api: Api, site: Site) -> Any:
    answer = api.get("oci/credentials", siteId=site.public_id)
    assert check("GET", "/api/oci/credentials", answer)
    assert answer.status_code == 200, answer.content
    return answer.json()


def run_test(api: Api, site: Site, *, status: int = 200) -> Any:
    answer = api.post("oci/credentials/test", {"siteId": site.public_id})
    assert check("POST", "/api/oci/credentials/test", answer)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_login_is_stored_as_the_page_stores_it_and_no_answer_repeats_a_value(
    agency: Api, api_site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    answer = store(agency, api_site, **FULL)

    account = stored(api_site)
    assert (account.customer_id, account.client_secret) == ("5551234567", "stored-client-secret")
    assert account.conversion_actions["a = b"] == "customers/5551234567/conversionActions/7654323"
    assert (answer["status"], answer["kind"], answer["parts"]) == ("changed", "oauth", list(FULL))
    everything = json.dumps([answer, show(agency, api_site), run_test(agency, api_site)]) + caplog.text
    assert [value for value in VALUES if value in everything] == []


def test_storing_rings_the_uploader(agency: Api, api_site: Site, django_capture_on_commit_callbacks: Any) -> None:
    Heartbeat.objects.create(name="w1", alive_at=Now())

    with django_capture_on_commit_callbacks(execute=True):
        store(agency, api_site, **FULL)

    assert is_rung("oci_upload")
    assert show(agency, api_site)["workerIsRunning"] is True


def test_the_history_says_which_parts_and_which_key_and_no_value(agency: Api, api_site: Site) -> None:
    store(agency, api_site, **FULL)

    (text,) = LogEntry.objects.filter(object_id=str(api_site.pk)).values_list("change_message", flat=True)

    assert text.startswith("Stored credentials: customer id, login customer id, oauth client id, oauth client secret")
    assert " With the API key provisioning (…" in text
    assert [value for value in VALUES if value in text] == []


def test_the_same_login_again_changes_nothing(agency: Api, api_site: Site) -> None:
    store(agency, api_site, **FULL)
    before = Credentials.objects.get().changed_at

    again = store(agency, api_site, **FULL)

    assert again["status"] == "unchanged"
    assert Credentials.objects.get().changed_at == before
    assert LogEntry.objects.count() == 1


def test_a_part_is_replaced_and_the_others_stay(agency: Api, api_site: Site) -> None:
    store(agency, api_site, **FULL)

    store(agency, api_site, refreshToken="newer", remove=["developerToken"])

    account = stored(api_site)
    assert (account.refresh_token, account.client_id, account.developer_token) == ("newer", "stored-client-id", "")
    assert store(agency, api_site, remove=["developerToken"])["status"] == "unchanged"


@pytest.mark.parametrize("as_text", [True, False])
def test_a_service_account_replaces_the_oauth_client(agency: Api, api_site: Site, as_text: bool) -> None:
    store(agency, api_site, **FULL)
    key = service_account()

    answer = store(agency, api_site, serviceAccount=key if as_text else json.loads(key))

    account = stored(api_site)
    assert (account.refresh_token, bool(account.service_account)) == ("", True)
    assert answer["kind"] == "serviceAccount"
    assert answer["serviceAccountEmail"] == "kilit@a-project.iam.gserviceaccount.com"
    assert "PRIVATE KEY" not in json.dumps(answer)


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({}, ""),
        ({"remove": ["developerToken"]}, ""),
        ({"refreshToken": "x"}, "customerId"),
        ({**FULL, "customerId": "123"}, "customerId"),
        ({**FULL, "customerId": 1234567890}, "customerId"),
        ({**FULL, "clientSecret": "with a blank"}, "clientSecret"),
        ({**FULL, "clientSecret": "“quoted”"}, "clientSecret"),
        ({**FULL, "refreshToken": "x" * 2001}, "refreshToken"),
        ({**FULL, "conversionAction": "customers/9999999999/conversionActions/1"}, "conversionAction"),
        ({**FULL, "conversionActions": {"Teklif": "none"}}, "conversionActions"),
        ({**FULL, "conversionActions": {}}, "conversionActions"),
        ({**FULL, "serviceAccount": {}}, "serviceAccount"),
        ({"serviceAccount": "{}"}, "serviceAccount"),
        ({"serviceAccount": 5}, "serviceAccount"),
        ({**FULL, "password": "x"}, "password"),
        ({**FULL, "remove": ["clientSecret"]}, "remove.0"),
    ],
)
def test_bad_input_is_named_without_secrets_and_stores_nothing(
    agency: Api, api_site: Site, parts: dict[str, Any], field: str
) -> None:
    answer = store(agency, api_site, status=400, **parts)

    assert answer["error"]["fields"][0]["field"] == field
    assert "stored-" not in json.dumps(answer)
    assert not Credentials.objects.exists()


def test_another_account_needs_a_confirmation_if_rows_are_open(
    agency: Api, api_site: Site, make_conversion: Any
) -> None:
    store(agency, api_site, **FULL)
    make_conversion(api_site, outcome_unknown=True)
    other = {"customerId": "999-888-7777", "conversionAction": "1", "remove": ["conversionActions"]}

    refused = store(agency, api_site, status=409, **other)["error"]

    assert (refused["code"], refused["fields"][0]["field"]) == ("CONFLICT", "customerId")
    assert stored(api_site).customer_id == "5551234567"
    store(agency, api_site, confirmMove=True, **other)
    assert stored(api_site).customer_id == "9998887777"
    assert "ends in 4567 to the one that ends in 7777, with unsettled rows" in str(
        list(LogEntry.objects.values_list("change_message", flat=True))
    )


def test_a_test_is_run_by_a_worker_and_its_words_are_answered(
    agency: Api, api_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(agency, api_site, **FULL)
    assert show(agency, api_site)["test"]["status"] == "none"

    assert run_test(agency, api_site)["test"]["status"] == "waiting"
    findings = [CheckFinding("Login", "Google refuses the refresh token.", passed=False)]
    monkeypatch.setattr("ociqueue.uploader.connection_test.check_account", lambda _: iter(findings))
    check_requested()

    test = show(agency, api_site)["test"]
    assert test["status"] == "failed"
    assert test["findings"] == [{"what": "Login", "message": "Google refuses the refresh token.", "passed": False}]
    assert agency.get("oci/queue-stats", siteId=api_site.public_id).json()["loginTestFailed"] is True


def test_without_a_login_there_is_nothing_to_test(agency: Api, api_site: Site) -> None:
    assert show(agency, api_site)["kind"] is None
    assert run_test(agency, api_site, status=409)["error"]["code"] == "NO_CREDENTIALS"
