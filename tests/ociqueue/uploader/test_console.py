"""The API path in the console: logins that are written and never shown, checks, and what an outage looks like."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client

from lifecycle.models import Bell, Heartbeat
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.models.credentials import Account
from ociqueue.states import Category, CircuitStatus, SyncMethod
from ociqueue.sweeps import check_asked
from ociqueue.uploader.errors import DATA_MANAGER
from ociqueue.uploader.running import upload_due
from tests.ociqueue.uploader.conftest import account, states

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/ociqueue/site/"
MINE = "5551234567"
FULL = {
    "customer_id": "555-123-4567",
    "login_customer_id": "111-222-3333",
    "client_id": "stored-client-id",
    "client_secret": "stored-client-secret",
    "refresh_token": "stored-refresh-token",
    "developer_token": "stored-developer-token",
    "conversion_action": "7654321",
    "conversion_actions": "Teklif = 7654322\n\nKampanya = yaz = customers/5551234567/conversionActions/7654323\n",
}
# As stored and as typed: none of them may come back, but for Google's own words of a check.
VALUES = [MINE, "555-123-4567", "1112223333", "7654321", "7654322", "7654323", "Kampanya", "stored-"]


@pytest.fixture
def admin(make_person, site) -> Client:
    return make_person("fatma", role="admin", sites={site: "admin"})


@pytest.fixture
def _worker() -> None:
    """A supervisor that lives, so that bells are rung."""
    Heartbeat.objects.create(name="w1", alive_at=Now())


def page_of(site: Site, name: str = "credentials") -> str:
    return f"{LIST}{site.pk}/{name}/"


def store(client: Client, site: Site, **fields: str) -> Any:
    return client.post(page_of(site), fields, follow=True)


def stored(site: Site) -> Account:
    return Credentials.objects.get(site=site).account()


def is_rung(name: str) -> bool:
    return Bell.objects.filter(name=name, rung_at__isnull=False).exists()


def errors_of(answer: Any) -> dict[str, list[str]]:
    return {name: [str(text) for text in texts] for name, texts in answer.context["form"].errors.items()}


# Storing


@pytest.mark.usefixtures("_worker")
def test_oci_19_a_login_is_stored_sealed_and_the_probe_is_rung_for(admin, site) -> None:
    Site.objects.update(sync_method=SyncMethod.API)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="no")

    answer = store(admin, site, **FULL)

    assert str(next(iter(answer.context["messages"]))).startswith("Stored credentials: customer id, ")
    assert asdict(stored(site)) == {
        **{name: FULL[name] for name in ("client_id", "client_secret", "refresh_token", "developer_token")},
        "customer_id": MINE,
        "login_customer_id": "1112223333",
        "conversion_action": f"customers/{MINE}/conversionActions/7654321",
        "conversion_actions": {
            "Teklif": f"customers/{MINE}/conversionActions/7654322",
            "Kampanya = yaz": f"customers/{MINE}/conversionActions/7654323",
        },
    }
    assert "stored-" not in Credentials.objects.get().sealed
    assert not Circuit.objects.resting().exists()
    assert is_rung("oci_upload")


def test_oci_19_nothing_stored_is_ever_shown(admin, site, admin_client) -> None:
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
    assert "Fields left empty keep what is stored" in answer.content.decode()
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
    ("fields", "name", "told"),
    [
        ({"customer_id": "123"}, "customer_id", "ten digits"),
        ({"customer_id": "１２３４５６７８９０"}, "customer_id", "ten digits"),
        ({"login_customer_id": "my manager"}, "login_customer_id", "ten digits"),
        ({"conversion_action": "sale"}, "conversion_action", "is a number, or customers/5551234567"),
        (
            {"conversion_action": "customers/9999999999/conversionActions/1"},
            "conversion_action",
            "is of customer 9999999999; uploads go to 5551234567",
        ),
        ({"conversion_actions": "Teklif"}, "conversion_actions", "Line 1: write conversion name = action"),
        ({"conversion_actions": "A = 1\n = 2"}, "conversion_actions", "Line 2: write conversion name = action"),
        ({"conversion_actions": "A = 1\nA = 2"}, "conversion_actions", "Line 2: A has an action already"),
        ({"conversion_actions": "A = x"}, "conversion_actions", "Line 1: A conversion action is a number"),
        ({"conversion_actions": f"{'a' * 101} = 1"}, "conversion_actions", "Line 1: a conversion name has at most"),
        ({"refresh_token": ""}, "refresh_token", "Needed: none is stored."),
        ({"client_secret": "a\x00b"}, "client_secret", "Null characters are not allowed."),
        ({"client_id": "x" * 501}, "client_id", "at most 500 characters"),
    ],
)
def test_bad_input_is_told_at_its_field_and_stores_nothing(admin, site, fields, name, told) -> None:
    answer = store(admin, site, **{**FULL, **fields})

    assert told in errors_of(answer)[name][0]
    assert told.replace("'", "&#x27;") in answer.content.decode()
    assert not Credentials.objects.exists()


def test_nothing_entered_changes_nothing(admin, site) -> None:
    empty = store(admin, site)
    store(admin, site, **FULL)
    changed_at = Credentials.objects.get().changed_at

    answer = store(admin, site, refresh_token="  ")

    assert "Nothing was entered" in empty.content.decode()
    assert "Nothing was entered" in answer.content.decode()
    assert Credentials.objects.get().changed_at == changed_at


def test_stored_actions_of_another_customer_are_not_kept_and_not_told(admin, site) -> None:
    store(admin, site, **FULL)

    moved = store(admin, site, customer_id="9876543210")
    alone = store(admin, site, conversion_action="5")

    assert set(errors_of(moved)) == {"conversion_action", "conversion_actions"}
    assert "another customer's" in errors_of(moved)["conversion_action"][0]
    assert errors_of(alone) == {"customer_id": ["Enter it again: conversion actions belong to a customer."]}
    for answer in (moved, alone):
        assert MINE not in answer.content.decode()
    assert stored(site).customer_id == MINE


def test_a_login_that_no_key_opens_is_entered_anew(admin, site, settings) -> None:
    store(admin, site, **FULL)
    settings.CREDENTIAL_KEYS = ["another word"]

    shown = admin.get(page_of(site))
    partial = store(admin, site, refresh_token="a-new-token")
    store(admin, site, **FULL)

    assert shown.status_code == 200
    assert "None of KILIT_CREDENTIAL_KEYS opens the stored credentials" in shown.content.decode()
    assert "Enter all of it anew." in shown.content.decode()
    assert errors_of(partial)["client_id"] == ["Needed: none is stored."]
    assert stored(site).refresh_token == FULL["refresh_token"]


def test_two_admins_who_replace_a_part_each_lose_none(make_person, site, in_threads) -> None:
    Credentials.objects.store(site, account())
    admins = [make_person(f"admin-{number}", role="admin", sites={site: "admin"}) for number in range(2)]
    parts = [{"refresh_token": "new-token"}, {"client_secret": "new-secret"}]

    in_threads(lambda number: store(admins[number], site, **parts[number]), count=2)

    kept = stored(site)
    assert (kept.refresh_token, kept.client_secret) == ("new-token", "new-secret")


# Who may


@pytest.fixture
def others(make_person: Callable[..., Client], site: Site) -> list[Client]:
    return [
        make_person("ali", role="viewer", sites={site: "admin"}),
        make_person("veli", role="admin", sites={site: "viewer"}),
    ]


def test_only_a_sites_admins_store_and_its_operators_check_and_probe(make_person, site, others) -> None:
    Credentials.objects.store(site, account())
    Site.objects.update(sync_method=SyncMethod.API)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="no")
    operator = make_person("can", role="operator", sites={site: "operator"})

    for viewer in others:
        shown = viewer.get(page_of(site)).content.decode() + viewer.get(page_of(site, "change")).content.decode()
        assert 'name="refresh_token"' not in shown
        assert "Check credentials" not in shown
        assert "Probe now" not in shown
        assert viewer.post(page_of(site), FULL).status_code == 403
        assert viewer.post(page_of(site, "credentials/check")).status_code == 403
        assert viewer.post(page_of(site, "circuit/probe")).status_code == 403
    assert operator.post(page_of(site), FULL).status_code == 403

    assert stored(site) == account()
    assert Credentials.objects.get().check_asked_at is None
    assert Circuit.objects.resting().exists()
    assert operator.post(page_of(site, "credentials/check")).status_code == 302
    assert operator.post(page_of(site, "circuit/probe")).status_code == 302
    assert Credentials.objects.to_check().exists()
    assert not Circuit.objects.resting().exists()


def test_another_tenants_login_and_circuit_do_not_exist(admin, make_api_site) -> None:
    foreign = make_api_site(name="Rakip")
    Circuit.objects.trip(foreign, code="X", category=Category.AUTH, reason="no")

    for name in ("credentials", "circuit"):
        assert admin.get(page_of(foreign, name)).status_code == 404
    for name in ("credentials", "credentials/check", "circuit/probe"):
        assert admin.post(page_of(foreign, name), FULL).status_code == 404

    assert stored(foreign) == account()
    assert Credentials.objects.get().check_asked_at is None
    assert Circuit.objects.resting().exists()


# Checks


@pytest.mark.usefixtures("_worker")
def test_a_check_is_asked_for_waited_for_and_answered(google, make_person, api_site) -> None:
    operator = make_person(sites={api_site: "operator"})

    unasked = operator.get(page_of(api_site)).content.decode()
    asked = operator.post(page_of(api_site, "credentials/check"), follow=True).content.decode()
    assert is_rung("oci_check_credentials")
    check_asked()
    answered = operator.get(page_of(api_site)).content.decode()

    assert "was not checked yet" in unasked
    assert "Asked, waiting for a worker" in asked
    assert 'hx-trigger="every 3s"' in asked
    assert 'hx-trigger="every 3s"' not in answered
    for words in ("Passed:", "Google accepts the refresh token.", "Satış takes uploads."):
        assert words in answered
    assert "client-secret-word" not in answered
    assert google.logins == 1


def test_a_failed_check_says_what_failed(google, make_person, api_site) -> None:
    google.login = "invalid_grant"
    operator = make_person(sites={api_site: "operator"})

    operator.post(page_of(api_site, "credentials/check"))
    check_asked()

    shown = operator.get(page_of(api_site)).content.decode()
    assert "Failed:" in shown
    assert "make a new refresh token" in shown


def test_without_a_worker_the_page_says_that_nobody_checks(make_person, api_site) -> None:
    operator = make_person(sites={api_site: "operator"})

    shown = operator.post(page_of(api_site, "credentials/check"), follow=True).content.decode()

    assert "no worker is alive" in shown


def test_there_is_nothing_to_check_without_a_login(admin, site) -> None:
    answer = admin.post(page_of(site, "credentials/check"), follow=True)

    assert "There is nothing to check" in str(next(iter(answer.context["messages"])))


# From the fault to the mending


@pytest.mark.usefixtures("_worker")
def test_oci_22_not_allowlisted_is_told_in_full_and_a_probe_closes_it(google, make_person, api_site, make_rows) -> None:
    refusal = {"family": "not_allowlisted_error", "name": "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"}
    google.replies.append(lambda call: call.refuse("PERMISSION_DENIED", refusal))
    make_rows(api_site, count=3)
    operator = make_person(sites={api_site: "operator"})

    upload_due()
    shown = [operator.get(page_of(api_site, name)).content.decode() for name in ("change", "circuit")]
    answer = operator.post(page_of(api_site, "circuit/probe"), follow=True)
    told = [str(message) for message in answer.context["messages"]]
    assert is_rung("oci_upload")
    upload_due()

    for page in shown:
        assert DATA_MANAGER.replace("'", "&#x27;") in page
        assert "Probe now" in page
    assert told == ["The oldest waiting row is sent as the probe within seconds."]
    assert states(api_site) == ["COMPLETED"] * 3
    assert Circuit.objects.get().status == CircuitStatus.CLOSED
    closed = operator.get(page_of(api_site, "circuit"))
    assert "The circuit is closed" in closed.content.decode()
    (shown_circuit,) = closed.context["shown"]
    assert [event.event_type for event in shown_circuit.timeline] == [
        "STATE_CLOSED",
        "PROBE_ASKED",
        "STATE_OPEN",
        "JOB_CREATED",
    ]
    assert shown_circuit.timeline[1].actor == "operator:ayse"
