"""Keys of sites by API: issued once, shown once, listed without their texts, revoked."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group

from kilit.access.models import ApiKey
from kilit.lock.models import Activity
from ociqueue.models import Site
from tests.support.agency import agency_api, make_admin
from tests.support.api import Api

pytestmark = pytest.mark.django_db

NEXT_WEEK = (datetime.now(UTC) + timedelta(days=7)).isoformat(timespec="seconds")


@pytest.fixture
def agency(site: Site) -> Api:
    return agency_api(make_admin(sites={site: "admin"}))


@pytest.fixture
def foreign(make_site: Callable[..., Site]) -> Site:
    return make_site(name="Foreign")


def issue(api: Api, *keys: dict[str, Any], status: int = 200, **more: Any) -> Any:
    answer = api.post("oci/keys", {"keys": keys, **more})
    assert answer.status_code == status, answer.content
    return answer.json()


def revoke(api: Api, *ids: int, status: int = 200, **more: Any) -> Any:
    answer = api.post("oci/keys/revoke", {"keys": ids, **more})
    assert answer.status_code == status, answer.content
    return answer.json()


def listed(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("oci/keys", **query)
    assert answer.status_code == 200, answer.content
    return answer.json()["keys"]


def shop(site: Site, **more: Any) -> dict[str, Any]:
    return {"site": site.public_id, "name": "shop", "scopes": ["enqueue"], **more}


def history(site: Site) -> list[str]:
    entries = LogEntry.objects.filter(object_id=str(site.pk)).order_by("pk")
    return list(entries.values_list("change_message", flat=True))


def test_a_key_is_issued_with_its_text_and_opens_what_its_scopes_say(agency: Api, site: Site) -> None:
    (result,) = issue(agency, shop(site, expiresAt=NEXT_WEEK))["results"]

    key = site.keys().get()
    assert (result["status"], result["id"], key.scopes) == ("created", key.pk, ["enqueue"])
    assert key.expires_at == datetime.fromisoformat(NEXT_WEEK)
    program = Api(result["key"])
    assert program.post("oci/conversions", {"siteId": site.public_id, "conversions": [{}]}).status_code == 200
    assert program.get("oci/google-ads-export", siteId=site.public_id).status_code == 403


def test_the_history_names_the_key_that_issued_and_revoked(agency: Api, site: Site) -> None:
    (result,) = issue(agency, shop(site, scopes=["read", "enqueue", "read"]))["results"]
    revoke(agency, result["id"])

    with_key = " With the API key provisioning (…"
    assert [text.partition(with_key)[0] for text in history(site)] == [
        "Issued the key shop (enqueue, read).",
        f"Revoked the key {site.keys().get()}.",
    ]
    assert all(with_key in text for text in history(site))
    assert list(Activity.objects.filter(kind="key").values_list("person", flat=True)) == ["agency", "agency"]


def test_the_same_request_again_issues_no_second_key_and_shows_no_text(agency: Api, site: Site) -> None:
    first = issue(agency, shop(site))["results"][0]

    again = issue(agency, shop(site))

    assert (again["created"], again["unchanged"]) == (0, 1)
    assert again["results"][0] == {**first, "status": "unchanged", "key": None}
    assert site.keys().count() == 1


def test_a_name_in_use_with_other_scopes_is_a_conflict_and_issues_nothing(agency: Api, site: Site) -> None:
    issue(agency, shop(site))

    error = issue(agency, shop(site, name="other"), shop(site, scopes=["read"]), status=409)["error"]

    assert (error["code"], [each["field"] for each in error["fields"]]) == ("CONFLICT", ["keys.1.name"])
    assert site.keys().count() == 1


def test_the_name_of_a_revoked_or_expired_key_is_free_again(agency: Api, site: Site) -> None:
    first = issue(agency, shop(site))["results"][0]
    revoke(agency, first["id"])

    second = issue(agency, shop(site))["results"][0]

    assert second["status"] == "created"
    assert second["key"] != first["key"]


def test_another_sites_id_is_like_an_unknown_one(agency: Api, site: Site, foreign: Site) -> None:
    foreign.issue_key(name="theirs")
    theirs = foreign.keys().get()

    refused = [issue(agency, shop(site), shop(each), status=400) for each in (foreign, Site(name="Nowhere"))]
    not_revoked = [revoke(agency, pk, status=400) for pk in (theirs.pk, 10**12)]
    not_listed = [agency.get("oci/keys", site=each).json() for each in (foreign.public_id, "f" * 32)]

    assert refused[0] == refused[1]
    assert refused[0]["error"]["fields"][0]["field"] == "keys.1.site"
    assert not_revoked[0] == not_revoked[1]
    assert not_listed[0] == not_listed[1]
    assert not site.keys().exists()
    assert foreign.keys().valid().count() == 1


def test_keys_of_people_are_neither_listed_nor_revoked(agency: Api, site: Site) -> None:
    own = ApiKey.objects.get(name="provisioning")

    assert listed(agency, state="all") == []
    revoke(agency, own.pk, status=400)
    assert listed(agency) == []


def test_keys_are_listed_without_their_texts(agency: Api, site: Site) -> None:
    text = issue(agency, shop(site))["results"][0]["key"]
    ended = issue(agency, shop(site, name="old"))["results"][0]
    revoke(agency, ended["id"])

    (valid,) = listed(agency, site=site.public_id)

    assert (valid["name"], valid["scopes"], valid["hint"], valid["isValid"]) == ("shop", ["enqueue"], text[-4:], True)
    assert [(key["name"], key["isValid"]) for key in listed(agency, state="ended")] == [("old", False)]
    everything = agency.get("oci/keys", state="all").content.decode()
    assert text not in everything
    assert ApiKey.objects.get(name="shop").digest not in everything


def test_pages_of_keys_follow_each_other(agency: Api, site: Site) -> None:
    issue(agency, *(shop(site, name=f"shop {number}") for number in range(3)))

    first = agency.get("oci/keys", limit=2).json()
    second = agency.get("oci/keys", limit=2, cursor=first["nextCursor"]).json()

    assert [key["name"] for key in first["keys"] + second["keys"]] == ["shop 0", "shop 1", "shop 2"]
    assert second["nextCursor"] is None


def test_a_dry_run_issues_and_revokes_nothing(agency: Api, site: Site) -> None:
    (planned,) = issue(agency, shop(site), dryRun=True)["results"]
    assert (planned["status"], planned["id"], planned["key"]) == ("created", None, None)
    assert not site.keys().exists()

    pk = issue(agency, shop(site))["results"][0]["id"]
    assert revoke(agency, pk, dryRun=True)["changed"] == 1
    assert site.keys().valid().exists()


def test_revoking_ends_a_key_and_revoking_again_changes_nothing(agency: Api, site: Site) -> None:
    issued = issue(agency, shop(site))["results"][0]

    assert revoke(agency, issued["id"])["changed"] == 1
    assert revoke(agency, issued["id"])["unchanged"] == 1
    assert Api(issued["key"]).get("oci/conversions", sourceKey="x").status_code == 401
    assert len(history(site)) == 2


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scopes": ["admin"]}, "keys.0.scopes.0"),
        ({"scopes": []}, "keys.0.scopes"),
        ({"scopes": None}, "keys.0.scopes"),
        ({"scopes": "read"}, "keys.0.scopes"),
        ({"name": "  "}, "keys.0.name"),
        ({"name": "x" * 101}, "keys.0.name"),
        ({"name": "a\x00b"}, "keys.0.name"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "keys.0.expiresAt"),
        ({"expiresAt": "tomorrow"}, "keys.0.expiresAt"),
        ({"expiresAt": 5}, "keys.0.expiresAt"),
        ({"expires": NEXT_WEEK}, "keys.0.expires"),
    ],
)
def test_bad_input_is_named_and_issues_nothing(agency: Api, site: Site, change: dict[str, Any], field: str) -> None:
    error = issue(agency, shop(site, **change), status=400)["error"]

    assert [each["field"] for each in error["fields"]] == [field]
    assert not site.keys().exists()


def test_the_same_key_twice_in_a_request_is_refused(agency: Api, site: Site) -> None:
    error = issue(agency, shop(site), shop(site), status=400)["error"]

    assert error["fields"] == [{"field": "keys.1.name", "message": "keys.0 is the same key."}]
    assert revoke(agency, 1, 1, status=400)["error"]["fields"][0]["field"] == "keys.1"


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_of_a_site_issue_its_keys(site: Site, role: str) -> None:
    user = make_admin(sites={site: role})
    api = agency_api(user)
    issue(api, shop(site), status=400)

    user.site_memberships.update(role="admin")
    user.groups.set(Group.objects.filter(name=role))

    issue(api, shop(site), status=403)
    assert api.get("oci/keys").status_code == 403
    assert not site.keys().exists()


@pytest.mark.django_db(transaction=True)
def test_the_same_request_twice_at_once_issues_one_key(agency: Api, site: Site, in_threads: Any) -> None:
    statuses = in_threads(lambda _: issue(agency, shop(site))["results"][0]["status"], count=4)

    assert sorted(statuses) == ["created", "unchanged", "unchanged", "unchanged"]
    assert site.keys().count() == 1
