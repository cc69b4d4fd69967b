"""Sites in bulk by API: listed, created and changed, all of a request or nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.models import Activity
from kilit.sites.file_lines import AdministeredSites
from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.agency import agency_api, faults, make_admin
from tests.support.api import Api
from tests.support.conversions import SALE

pytestmark = pytest.mark.django_db

SITES = [
    {"name": "Deniz", "customerId": "123-456-7890", "currency": "try", "timeZone": "Europe/Istanbul"},
    {"name": "Orman", "customerId": "2345678901", "sender": "api", "acceptIdentifiers": True, "deniedConsent": "SEND"},
]


def store(api: Api, *sites: Any, **more: Any) -> Any:
    answer = api.post("oci/sites", {"sites": list(sites), **more})
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def test_sites_are_created_with_the_keys_user_as_their_admin(root: Api, admin_user: User) -> None:
    answer = store(root, *SITES).json()

    sites = list(Site.objects.order_by("name"))
    assert (answer["created"], answer["changed"], answer["unchanged"]) == (2, 0, 0)
    assert [each["publicId"] for each in answer["results"]] == [site.public_id for site in sites]
    assert [(site.customer_id, site.default_currency, site.sync_method) for site in sites] == [
        ("1234567890", "TRY", "script"),
        ("2345678901", "", "api"),
    ]
    assert (sites[1].accepts_identifiers, sites[1].denied_consent) == (True, "SEND")
    assert SiteMembership.objects.filter(user=admin_user, role="admin").count() == 2


def test_the_same_again_changes_nothing_and_says_so(root: Api) -> None:
    store(root, *SITES)
    entries = LogEntry.objects.count()

    answer = store(root, *SITES).json()

    assert (answer["created"], answer["changed"], answer["unchanged"]) == (0, 0, 2)
    assert [each["changes"] for each in answer["results"]] == [{}, {}]
    assert (Site.objects.count(), LogEntry.objects.count()) == (2, entries)


def test_what_is_absent_or_null_stays_as_it_is(root: Api, site: Site) -> None:
    answer = store(
        root, {"publicId": site.public_id, "name": "Yeni", "currency": None, "requeueTransient": True}
    ).json()

    (result,) = answer["results"]
    assert result["status"] == "changed"
    assert result["changes"] == {
        "name": {"before": "Mobilya", "after": "Yeni"},
        "requeueTransient": {"before": False, "after": True},
    }
    site.refresh_from_db()
    assert (site.name, site.default_currency, site.requeue_transient) == ("Yeni", "TRY", True)


def test_a_dry_run_stores_nothing(root: Api) -> None:
    answer = store(root, *SITES, dryRun=True).json()

    assert (answer["dryRun"], answer["created"]) == (True, 2)
    assert {each["publicId"] for each in answer["results"]} == {None}
    assert not Site.objects.exists()


def test_one_invalid_site_refuses_all_with_the_errors_of_the_import(root: Api, site: Site) -> None:
    invalid = {"name": "Yeni", "customerId": "12", "currency": "XXX", "timeZone": "localtime"}
    unknown = {"publicId": "f" * 32, "name": "Yeni"}
    sender = {"publicId": site.public_id, "sender": "api"}

    found = faults(store(root, {"name": "Deniz"}, invalid, unknown, sender, {"currency": "TRY"}, {"name": "Deniz"}))

    assert set(found) == {
        "sites.1.customerId",
        "sites.1.currency",
        "sites.1.timeZone",
        "sites.2.publicId",
        "sites.3.sender",
        "sites.4.name",
        "sites.5",
    }
    assert found["sites.1.currency"] == "XXX is not an ISO 4217 currency code, such as TRY."
    assert found["sites.2.publicId"] == "There is no such site among those you administer."
    assert found["sites.5"] == "sites.0 is about the same site."
    assert Site.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "sites"),
        ({"sites": {}}, "sites"),
        ({"sites": []}, "sites"),
        ({"sites": ["Deniz"]}, "sites.0"),
        ({"sites": [{"name": 5}]}, "sites.0.name"),
        ({"sites": [{"name": ""}]}, "sites.0.name"),
        ({"sites": [{"name": "a\u0000"}]}, "sites.0.name"),
        ({"sites": [{"name": "a", "requeueTransient": "yes"}]}, "sites.0.requeueTransient"),
        ({"sites": [{"name": "a", "sender": "fax"}]}, "sites.0.sender"),
        ({"sites": [{"name": "a", "deniedConsent": 1}]}, "sites.0.deniedConsent"),
        ({"sites": [{"name": "a", "is_paused": True}]}, "sites.0.is_paused"),
        ({"sites": [{"name": "a"}], "dryRun": "true"}, "dryRun"),
        ({"sites": [{"name": "a"}], "dry_run": True}, "dry_run"),
        ({"sites": [{"name": str(number)} for number in range(1001)]}, "sites"),
    ],
)
def test_bad_input_is_named_and_nothing_is_stored(root: Api, body: Any, field: str) -> None:
    answer = root.post("oci/sites", body)

    assert list(faults(answer)) == [field]
    assert not Site.objects.exists()


def test_a_body_that_is_too_large_or_no_object_is_refused(root: Api) -> None:
    huge = root.client.post(
        "/api/oci/sites", b'{"sites": "' + b"x" * 5 * 1024**2 + b'"}', "application/json", headers=root.headers
    )
    listed = root.post("oci/sites", [])

    assert (huge.status_code, huge.json()["error"]["code"]) == (413, "TOO_LARGE")
    assert listed.status_code == 400


@pytest.mark.parametrize("path", ["sites", "members"])
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_not_allowed(root: Api, path: str, method: str) -> None:
    answer = getattr(root.client, method)(f"/api/oci/{path}", headers=root.headers)

    assert answer.status_code == 405
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_site_that_is_archived_is_recognised_and_said_to_be_so(root: Api, make_site: Callable[..., Site]) -> None:
    make_site(name="Eski", archived_at=Now(), is_paused=True, pause_reason="Over.")

    (result,) = store(root, {"name": "Eski"}).json()["results"]

    assert (result["status"], result["isArchived"]) == ("unchanged", True)


def test_sites_are_listed_in_pages_by_state(root: Api, make_site: Callable[..., Site]) -> None:
    made = [make_site(name=f"Site {number}") for number in range(3)]
    old = make_site(name="Eski", archived_at=Now(), is_paused=True, pause_reason="Over.")

    first = root.get("oci/sites", limit=2).json()
    second = root.get("oci/sites", limit=2, cursor=first["nextCursor"]).json()

    assert [each["publicId"] for each in first["sites"] + second["sites"]] == [site.public_id for site in made]
    assert second["nextCursor"] is None
    assert [each["publicId"] for each in root.get("oci/sites", state="archived").json()["sites"]] == [old.public_id]
    assert len(root.get("oci/sites", state="all").json()["sites"]) == 4
    assert root.get("oci/sites", cursor="x", limit="1_0", state="old").status_code == 400


def test_an_admin_reaches_only_the_sites_that_the_admin_administers(make_site: Callable[..., Site]) -> None:
    own, run, other = make_site(name="Own"), make_site(name="Run"), make_site(name="Other")
    api = agency_api(make_admin(sites={own: "admin", run: "operator"}))

    listed = api.get("oci/sites").json()["sites"]
    found = faults(store(api, *({"publicId": site.public_id, "currency": "EUR"} for site in (own, run, other))))

    assert [each["name"] for each in listed] == ["Own"]
    assert set(found) == {"sites.1.publicId", "sites.2.publicId"}
    assert set(Site.objects.values_list("default_currency", flat=True)) == {"TRY"}


def test_the_history_names_the_key_and_its_user(root: Api, admin_user: User) -> None:
    store(root, SITES[0])

    entry = LogEntry.objects.get()
    assert entry.user == admin_user
    assert entry.change_message.startswith("Stored by API. With the API key provisioning (…")
    assert Activity.objects.filter(object_name="Deniz", person=admin_user.username).exists()


def test_a_page_of_many_sites_needs_few_queries(
    root: Api, make_site: Callable[..., Site], django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        make_site(name=f"Site {number}")

    with django_assert_max_num_queries(12):
        root.get("oci/sites")


@pytest.mark.django_db(transaction=True)
def test_sites_that_are_being_stored_still_take_conversions(
    admin_user: User, site: Site, api: Api, in_threads: Callable[..., list[Any]]
) -> None:
    body = {"siteId": site.public_id, "conversions": [SALE]}

    with transaction.atomic():
        AdministeredSites(admin_user)  # as a request does that goes on
        (status,) = in_threads(lambda _: api.post("oci/conversions", body).status_code, count=1)

    assert status == 200
