"""A service account's key in the console: pasted or as a file, never shown, and one login at a time."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ociqueue.models import Credentials
from tests.support.credentials_form import FULL, MINE, errors_of, page_of, store, stored
from tests.support.service_accounts import service_account

pytestmark = pytest.mark.django_db

ACCOUNT = {"customer_id": "555-123-4567", "conversion_action": "7654321"}


def test_a_pasted_key_is_stored_and_only_its_address_is_shown(admin, site) -> None:
    key = service_account()

    answer = store(admin, site, **ACCOUNT, service_account=key)

    kept = stored(site)
    assert kept.service_account_email == json.loads(key)["client_email"]
    assert (kept.customer_id, kept.refresh_token) == (MINE, "")
    assert f"Logs in as {kept.service_account_email}." in answer.text
    assert "PRIVATE KEY" not in answer.text
    assert "Stored credentials: customer id, service account, conversion action." in answer.text
    assert "Refresh token</span>" not in answer.text, "parts of the other kind of login are not missing"


def test_a_file_is_as_good_as_pasted_text(admin, site) -> None:
    file = SimpleUploadedFile("key.json", b"\xef\xbb\xbf" + service_account().encode())

    admin.post(page_of(site), {**ACCOUNT, "service_account_file": file})

    assert stored(site).service_account_email


def test_the_two_kinds_of_login_replace_each_other(admin, site) -> None:
    store(admin, site, **FULL)

    store(admin, site, service_account=service_account())
    of_service_account = stored(site)
    missing = store(admin, site, refresh_token="a-new-token")
    store(admin, site, client_id="c", client_secret="s", refresh_token="t")

    assert (of_service_account.refresh_token, of_service_account.client_id) == ("", "")
    assert of_service_account.service_account_email
    assert errors_of(missing)["client_id"] == ["This field is required: no value is stored."]
    assert (stored(site).service_account, stored(site).refresh_token) == ("", "t")


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"service_account": "{"}, "Paste the whole JSON file"),
        ({"service_account": '{"type": "authorized_user"}'}, "its type must be service_account"),
        ({"service_account": service_account(), "refresh_token": "t"}, "Enter one login"),
    ],
)
def test_a_wrong_key_is_reported_in_a_sentence_and_stores_nothing(admin, site, fields, reported: str) -> None:
    answer = store(admin, site, **ACCOUNT, **fields)

    assert reported in errors_of(answer)["service_account"][0]
    assert "PRIVATE KEY" not in answer.text
    assert not Credentials.objects.exists()


def test_a_key_that_a_fault_emptied_is_asked_for_again(admin, site) -> None:
    faulty = store(admin, site, customer_id="12", conversion_action="7", service_account=service_account())
    hasty = store(admin, site, **ACCOUNT, entered=",".join(faulty.context["form"].entered))

    assert "PRIVATE KEY" not in faulty.text
    assert errors_of(hasty)["service_account"]
    assert not Credentials.objects.exists()


def test_each_kind_of_login_says_what_it_needs_at_google(admin, site) -> None:
    shown = admin.get(page_of(site)).text

    assert "grant the client the scopes adwords and datamanager together" in shown
    assert "add its e-mail address as a user of the account" in shown
    assert shown.count("enable the Google Ads API and the Data Manager API") == 2
