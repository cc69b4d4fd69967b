"""Logins in the console: written and never shown; what stays empty stays as it is."""

from dataclasses import asdict

import pytest
from django.contrib.admin.models import LogEntry

from ociqueue.models import Circuit, Credentials, Site
from ociqueue.states import Category, SyncMethod
from tests.support.credentials_form import FULL, LIST, MINE, VALUES, errors_of, is_rung, page_of, store, stored
from tests.support.uploads import account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("_worker")
def test_a_login_is_stored_sealed_and_the_probe_is_rung_for(admin, site) -> None:
    Site.objects.update(sync_method=SyncMethod.API)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="no")

    answer = store(admin, site, **FULL)

    assert str(next(iter(answer.context["messages"]))).startswith("Stored credentials: customer id, ")
    assert asdict(stored(site)) == {
        **{name: FULL[name] for name in ("client_id", "client_secret", "refresh_token", "developer_token")},
        "customer_id": MINE,
        "login_customer_id": "1112223333",
        "service_account": "",
        "conversion_action": f"customers/{MINE}/conversionActions/7654321",
        "conversion_actions": {
            "Teklif": f"customers/{MINE}/conversionActions/7654322",
            "Kampanya = yaz": f"customers/{MINE}/conversionActions/7654323",
        },
    }
    assert "stored-" not in Credentials.objects.get().encrypted
    assert not Circuit.objects.blocking().exists()
    assert is_rung("oci_upload")


def test_nothing_stored_is_ever_shown(admin, site, admin_client) -> None:
    """Write-only: no page of the console holds a value, nor does the log, also after a mistake in the form."""
    store(admin, site, **FULL)
    Site.objects.update(sync_method=SyncMethod.API)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="no")
    addresses = [
        page_of(site),
        page_of(site, "circuit"),
        page_of(site, "change"),
        page_of(site, "history"),
        page_of(site, "ads-script"),
        LIST,
        "/admin/",
    ]

    pages = [client.get(address) for client in (admin, admin_client) for address in addresses]
    mistaken = store(admin, site, login_customer_id="12", refresh_token="typed-token")

    assert {page.status_code for page in pages} == {200}
    for page in [*pages, mistaken]:
        shown = page.content.decode()
        assert [value for value in [*VALUES, "typed-token"] if value in shown] == []
    logged = " ".join(f"{entry.object_repr} {entry.change_message}" for entry in LogEntry.objects.all())
    assert "refresh token" in logged
    assert [value for value in VALUES if value in logged] == []


def test_empty_fields_keep_what_is_stored(admin, site) -> None:
    store(admin, site, **FULL)
    before = asdict(stored(site))

    answer = store(admin, site, refresh_token="a-new-token")

    assert asdict(stored(site)) == {**before, "refresh_token": "a-new-token"}
    assert [str(message) for message in answer.context["messages"]] == ["Stored credentials: refresh token."]
    assert "Empty fields keep their stored values" in answer.content.decode()
    assert LogEntry.objects.latest("pk").change_message == "Stored credentials: refresh token."


def test_optional_parts_are_removed_by_name(admin, site) -> None:
    store(admin, site, **FULL)

    store(admin, site, forget=["developer_token", "conversion_actions"])

    kept = stored(site)
    assert (kept.developer_token, kept.conversion_actions, kept.login_customer_id) == ("", {}, "1112223333")
    assert kept.refresh_token == "stored-refresh-token"
    assert 'value="developer_token"' not in admin.get(page_of(site)).content.decode()
    assert store(admin, site, forget="refresh_token").context["form"].errors


@pytest.mark.parametrize(
    ("fields", "name", "reported"),
    [
        ({"customer_id": "123"}, "customer_id", "ten digits"),
        ({"customer_id": "１２３４５６７８９０"}, "customer_id", "ten digits"),
        ({"login_customer_id": "my manager"}, "login_customer_id", "ten digits"),
        ({"conversion_action": "sale"}, "conversion_action", "or customers/5551234567/conversionActions/NUMBER"),
        (
            {"conversion_action": "customers/9999999999/conversionActions/1"},
            "conversion_action",
            "belongs to customer 9999999999, but uploads go to 5551234567",
        ),
        ({"conversion_actions": "Teklif"}, "conversion_actions", "Line 1: write conversion name = action"),
        ({"conversion_actions": "A = 1\n = 2"}, "conversion_actions", "Line 2: write conversion name = action"),
        ({"conversion_actions": "A = 1\nA = 2"}, "conversion_actions", "Line 2: A already has an action"),
        ({"conversion_actions": "A = x"}, "conversion_actions", "Line 1: Enter the number of a conversion action"),
        ({"conversion_actions": f"{'a' * 101} = 1"}, "conversion_actions", "Line 1: a conversion name has at most"),
        ({"refresh_token": ""}, "refresh_token", "This field is required: no value is stored."),
        ({"client_secret": "a\x00b"}, "client_secret", "Only printable ASCII characters"),
        ({"client_id": "x" * 501}, "client_id", "at most 500 characters"),
    ],
)
def test_bad_input_is_reported_at_its_field_and_stores_nothing(admin, site, fields, name, reported) -> None:
    answer = store(admin, site, **{**FULL, **fields})

    assert reported in errors_of(answer)[name][0]
    assert reported.replace("'", "&#x27;") in answer.content.decode()
    assert not Credentials.objects.exists()


def test_a_secret_that_a_fault_emptied_is_asked_for_again(admin, site) -> None:
    store(admin, site, **FULL)
    before = stored(site)

    faulty = store(admin, site, login_customer_id="12", refresh_token="typed-token")
    hasty = store(admin, site, login_customer_id="1112223333", entered=",".join(faulty.context["form"].entered))

    assert "Correct the fields below and enter again: Refresh token." in faulty.text
    assert 'name="entered" value="refresh_token"' in faulty.text
    assert errors_of(hasty) == {"refresh_token": ["Enter it again: secrets are not sent back to the page."]}
    assert stored(site) == before, "an empty field must not keep the old secret unnoticed"
    store(admin, site, login_customer_id="1112223333", refresh_token="typed-token", entered="refresh_token")
    assert stored(site).refresh_token == "typed-token"


def test_nothing_entered_changes_nothing(admin, site) -> None:
    empty = store(admin, site)
    store(admin, site, **FULL)
    changed_at = Credentials.objects.get().changed_at

    answer = store(admin, site, refresh_token="  ")

    assert "Nothing was entered" in empty.content.decode()
    assert "Nothing was entered" in answer.content.decode()
    assert Credentials.objects.get().changed_at == changed_at


def test_stored_actions_of_another_customer_are_not_kept_and_not_reported(admin, site) -> None:
    store(admin, site, **FULL)

    moved = store(admin, site, customer_id="9876543210")
    alone = store(admin, site, conversion_action="5")

    assert set(errors_of(moved)) == {"conversion_action", "conversion_actions"}
    assert "another customer" in errors_of(moved)["conversion_action"][0]
    assert errors_of(alone) == {
        "customer_id": ["Enter the customer id as well: conversion actions belong to a customer."]
    }
    for answer in (moved, alone):
        assert MINE not in answer.content.decode()
    assert stored(site).customer_id == MINE


def test_a_login_that_no_key_opens_is_entered_again(admin, site, settings) -> None:
    store(admin, site, **FULL)
    settings.CREDENTIAL_KEYS = ["another word"]

    shown = admin.get(page_of(site))
    partial = store(admin, site, refresh_token="a-new-token")
    store(admin, site, **FULL)

    assert shown.status_code == 200
    assert "None of KILIT_CREDENTIAL_KEYS decrypts the stored credentials" in shown.content.decode()
    assert "Enter all of it again." in shown.content.decode()
    assert errors_of(partial)["client_id"] == ["This field is required: no value is stored."]
    assert stored(site).refresh_token == FULL["refresh_token"]


def test_two_admins_who_replace_a_part_each_lose_none(make_person, site, in_threads) -> None:
    Credentials.objects.store(site, account())
    admins = [make_person(f"admin-{number}", role="admin", sites={site: "admin"}) for number in range(2)]
    parts = [{"refresh_token": "new-token"}, {"client_secret": "new-secret"}]

    in_threads(lambda number: store(admins[number], site, **parts[number]), count=2)

    kept = stored(site)
    assert (kept.refresh_token, kept.client_secret) == ("new-token", "new-secret")
