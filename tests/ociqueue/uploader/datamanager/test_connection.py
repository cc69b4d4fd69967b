"""The connection test of a Data Manager site: each finding says what to do."""

import json

import pytest

from ociqueue.models import Conversion, Credentials
from ociqueue.uploader.connection_test import check
from simulators.datamanager import refusals
from simulators.datamanager.server import cut_before, refuse
from tests.support.uploads import account

pytestmark = pytest.mark.django_db(transaction=True)

API, ACTION, OWNER = "Data Manager API", "Conversion action", "Account that owns the conversions"


def findings() -> list[tuple[str, bool, str]]:
    return [(found.what, found.passed, found.message) for found in check(Credentials.objects.get())]


def test_a_healthy_site_passes_and_nothing_is_uploaded(data_manager, google, dm_site) -> None:
    Credentials.objects.store(
        dm_site, account(conversion_actions={"Teklif": "customers/1234567890/conversionActions/8"})
    )

    found = findings()

    assert [(what, passed) for what, passed, _ in found] == [
        ("Login", True),
        (API, True),
        (ACTION, True),
        (ACTION, True),
        (OWNER, True),
    ]
    assert Credentials.objects.get().check_passed
    bodies = [json.loads(call.body) for call in data_manager.uploads]
    assert [body["validateOnly"] for body in bodies] == [True, True]
    assert [body["destinations"][0]["productDestinationId"] for body in bodies] == ["7", "8"]
    assert not data_manager.entries
    assert not Conversion.objects.exists()


@pytest.mark.parametrize(
    ("refusal", "advice"),
    [
        (refusals.service_disabled(), "Enable it there (APIs & Services > Library), then run the connection test"),
        (refusals.scope_insufficient(), "Consent again with both scopes, adwords and datamanager"),
        (refusals.permission_denied(), "add the user or the service account's e-mail"),
        (refusals.unauthenticated(), "Store a new refresh token or a new key"),
    ],
)
def test_a_login_that_the_api_does_not_accept(data_manager, google, dm_site, refusal, advice) -> None:
    data_manager.upload_reply = refuse(refusal)

    found = findings()

    assert [(what, passed) for what, passed, _ in found] == [("Login", True), (API, False), (OWNER, True)]
    assert advice in found[1][2]
    assert Credentials.objects.get().check_passed is False


def test_an_account_that_does_not_own_its_conversions(data_manager, google, dm_site) -> None:
    def elsewhere(asked):
        rows = google._account(asked)
        rows[0]["customer"]["conversion_tracking_setting"]["google_ads_conversion_customer"] = "customers/9998887776"
        return rows

    google.search = elsewhere

    what, passed, message = findings()[-1]

    assert (what, passed) == (OWNER, False)
    assert "Change the customer id from 1234567890 to 9998887776" in message


def test_a_login_without_access_to_the_google_ads_api_still_passes(data_manager, google, dm_site) -> None:
    def closed(_):
        raise ValueError("no developer token")

    google.search = closed

    what, passed, message = findings()[-1]

    assert (what, passed) == (OWNER, True)
    assert message.startswith("Not checked")


def test_an_action_that_is_not_there(data_manager, google, dm_site) -> None:
    data_manager.unknown_actions.add("7")

    found = {what: (passed, message) for what, passed, message in findings()}

    assert found[API][0]
    assert not found[ACTION][0]
    assert found[ACTION][1].startswith("7: The account has no such conversion action")
    assert "Create an import of clicks with this very name in Google Ads" in found[ACTION][1]


def test_no_answer_and_a_rejected_login(data_manager, google, dm_site) -> None:
    data_manager.upload_reply = cut_before
    assert [(what, passed) for what, passed, _ in findings()] == [("Login", True), (API, False), (OWNER, True)]

    google.login = data_manager.login = "invalid_grant"
    assert [(what, passed) for what, passed, _ in findings()] == [("Login", False)]
