"""Tenants: with the key, the session or the ids of another site nothing is read, changed or revealed."""

from typing import Any

import pytest
from django.test import Client

from ociqueue.models import Conversion, Site
from tests.support.api import Api
from tests.support.conversions import SALE

pytestmark = pytest.mark.django_db


@pytest.fixture
def theirs(make_site) -> Site:
    return make_site(name="Theirs")


@pytest.fixture
def their_row(theirs, make_conversion) -> Conversion:
    row = make_conversion(theirs, gclid="their-secret-click", action="their secret action", source_key="their-key")
    Conversion.objects.claim(limit=10)
    row.refresh_from_db()
    return row


ITEM = {**SALE, "conversionName": "their secret action", "conversionCurrency": "TRY", "sourceKey": "their-key"}
SPAN = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}


def requests(site_name: str, row: Conversion) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Every endpoint, asked about a site and a row."""
    ids = {"siteId": site_name, "queueIds": [str(row)], "ids": [str(row)], "skippedIds": [str(row.pk)]}
    return {
        "export": ("get", "oci/google-ads-export", {"siteId": site_name, "markAsExported": "true"}),
        "preview": ("get", "oci/google-ads-export", {"siteId": site_name}),
        "ack": ("post", "oci/ack", ids),
        "ack-failed": ("post", "oci/ack-failed", {**ids, "errorCategory": "VALIDATION"}),
        "verify": ("post", "oci/v2/verify", ids),
        "conversions": ("post", "oci/conversions", {"siteId": site_name, "conversions": [ITEM]}),
        "adjustments": (
            "post",
            "oci/adjustments",
            {"siteId": site_name, "adjustments": [{"id": str(row), "kind": "RETRACTION"}]},
        ),
        "history": ("get", "oci/conversions/export", {"siteId": site_name, **SPAN}),
        "lookup": ("get", "oci/conversions", {"siteId": site_name, "id": str(row)}),
        "lookups": ("post", "oci/conversions/lookup", {"siteId": site_name, "lookups": [{"sourceKey": "their-key"}]}),
        "queue-stats": ("get", "oci/queue-stats", {"siteId": site_name}),
        "queue-rows": ("get", "oci/queue-rows", {"siteId": site_name}),
        "retry": ("post", "oci/queue-actions", {**ids, "action": "RETRY_SELECTED"}),
        "reset": ("post", "oci/queue-actions", {**ids, "action": "RESET_TO_QUEUED"}),
        "fail": ("post", "oci/queue-actions", {**ids, "action": "MARK_FAILED"}),
    }


ENDPOINTS = ["export", "preview", "ack", "ack-failed", "verify", "conversions", "adjustments"]
ENDPOINTS += ["lookup", "lookups", "history"]
OPERATORS = ["queue-stats", "queue-rows", "retry", "reset", "fail"]


def ask(api: Api, request: tuple[str, str, dict[str, Any]]) -> Any:
    method, path, body = request
    return api.get(path, **body) if method == "get" else api.post(path, body)


def unchanged(row: Conversion) -> bool:
    before = {field.name: getattr(row, field.attname) for field in row._meta.concrete_fields}
    after = Conversion.objects.get(pk=row.pk)
    return before == {field.name: getattr(after, field.attname) for field in after._meta.concrete_fields}


@pytest.mark.parametrize("name", ["public id", "uuid"])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_another_sites_key_finds_no_such_site(api, theirs, their_row, endpoint: str, name: str) -> None:
    asked = requests(theirs.public_id if name == "public id" else str(theirs.pk), their_row)
    nowhere = requests("0" * 32, their_row)

    answer, unknown = ask(api, asked[endpoint]), ask(api, nowhere[endpoint])

    assert (answer.status_code, answer.content) == (404, unknown.content)
    assert unchanged(their_row)


@pytest.mark.parametrize("endpoint", ["ack", "ack-failed"])
def test_another_sites_ids_are_like_ids_that_do_not_exist(api, site, their_row, endpoint: str) -> None:
    answer = ask(api, requests(site.public_id, their_row)[endpoint])

    assert answer.json()["updated"] == 0
    assert {row["status"] for row in answer.json()["ignored"]} == {"NOT_FOUND"}
    assert unchanged(their_row)


def test_another_sites_rows_are_not_found(api, site, their_row) -> None:
    names = [{"id": str(their_row)}, {"sourceKey": "their-key"}, {"orderId": their_row.order_id}]

    answer = api.post("oci/conversions/lookup", {"siteId": site.public_id, "lookups": names})

    assert [each["status"] for each in answer.json()["results"]] == ["notFound"] * 3
    assert [api.get("oci/conversions", **name).json()["conversions"] for name in names] == [[]] * 3


def test_another_sites_source_key_is_no_duplicate(api, site, their_row) -> None:
    answer = ask(api, requests(site.public_id, their_row)["conversions"])

    assert (answer.json()["created"], answer.json()["duplicates"]) == (1, 0)


@pytest.mark.parametrize("endpoint", OPERATORS)
def test_another_sites_operator_finds_no_such_site(site, theirs, their_row, make_person, endpoint: str) -> None:
    stranger = Api(client=make_person(sites={site: "admin"}))

    answer = ask(stranger, requests(theirs.public_id, their_row)[endpoint])

    assert answer.status_code == 404
    assert unchanged(their_row)


@pytest.mark.parametrize("endpoint", ["retry", "reset", "fail"])
def test_another_sites_ids_are_skipped_by_operators(site, their_row, make_person, endpoint: str) -> None:
    stranger = Api(client=make_person(sites={site: "admin"}))

    answer = ask(stranger, requests(site.public_id, their_row)[endpoint])

    skipped = [{"id": str(their_row), "status": "NOT_FOUND"}]
    assert answer.json() == {"ok": True, "affected": 0, "outcomeUnknown": 0, "skipped": skipped}
    assert unchanged(their_row)


@pytest.mark.parametrize("endpoint", ["retry", "reset", "fail"])
def test_viewers_look_and_may_not_act(theirs, their_row, make_person, endpoint: str) -> None:
    viewer = Api(client=make_person(sites={theirs: "viewer"}))

    assert ask(viewer, requests(theirs.public_id, their_row)["queue-stats"]).status_code == 200
    assert ask(viewer, requests(theirs.public_id, their_row)["queue-rows"]).status_code == 200
    assert ask(viewer, requests(theirs.public_id, their_row)[endpoint]).status_code == 403
    assert unchanged(their_row)


def test_a_revoked_key_opens_nothing(site, site_key) -> None:
    key = site_key(site)
    site.service_user().api_keys.all().revoke()

    assert Api(key).get("oci/google-ads-export", siteId=site.public_id).status_code == 401


def test_several_keys_open_a_site_at_once(site, site_key) -> None:
    old, new = site_key(site), site_key(site)

    assert Api(old).claim(site) == Api(new).claim(site) == []


def test_the_sum_over_sites_leaves_out_what_is_not_the_users(
    site, theirs, their_row, make_person, make_conversion
) -> None:
    make_conversion(site)
    person = Api(client=make_person(sites={site: "viewer"}))

    reported = person.get("oci/queue-stats", scope="multi").json()

    assert (reported["totals"]["QUEUED"], reported["totals"]["PROCESSING"]) == (1, 0)
    assert [each["siteId"] for each in reported["sites"]] == [site.public_id]


def test_a_hand_made_post_without_the_csrf_token_is_refused(site, make_person, make_conversion) -> None:
    row = make_conversion(site)
    client = make_person(sites={site: "operator"})
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies

    answer = Api(client=strict).post(
        "oci/queue-actions", {"siteId": site.public_id, "action": "MARK_FAILED", "ids": [str(row)]}
    )

    assert answer.status_code == 403
    assert unchanged(row)


@pytest.mark.parametrize("name", ["\x00", "nonsense", "' OR 1=1 --", "00000000-0000-0000-0000-000000000000", "ğ"])
def test_a_site_that_is_no_name_is_unknown_or_refused(api, name: str) -> None:
    assert api.get("oci/google-ads-export", siteId=name).status_code in {400, 404}
