"""Members in bulk by API: roles are given and ended, and no password is set or shown."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User

from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.agency import agency_api, faults, make_admin
from tests.support.api import Api
from tests.support.conversions import make_failed
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db


def member(site: Site, username: str = "deniz", role: str = "operator", **more: Any) -> dict[str, Any]:
    return {"username": username, "site": site.public_id, "role": role, **more}


def store(api: Api, *members: Any, **more: Any) -> Any:
    answer = api.post("oci/members", {"members": list(members), **more})
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def test_a_new_person_is_created_without_a_password_that_anyone_knows(root: Api, site: Site) -> None:
    answer = store(root, member(site, email="deniz@example.com", firstName="Deniz", lastName="Su"))

    person = User.objects.get(username="deniz")
    assert (person.email, person.first_name, person.is_staff, person.is_superuser) == (
        "deniz@example.com",
        "Deniz",
        True,
        False,
    )
    assert [group.name for group in person.groups.all()] == ["operator"]
    assert "password" not in answer.content.decode().lower()
    # So that the link for a forgotten password is sent.
    assert person.has_usable_password()
    assert answer.json()["newPeople"] == 1
    assert answer.json()["results"] == [
        {
            "index": 0,
            "status": "created",
            "username": "deniz",
            "isNewPerson": True,
            "site": site.public_id,
            "before": None,
            "after": "operator",
            "missingGroup": None,
        }
    ]


def test_roles_are_given_changed_and_ended_and_the_same_again_changes_nothing(root: Api, site: Site) -> None:
    statuses = [
        store(root, member(site, role=role)).json()["results"][0]["status"]
        for role in ("viewer", "viewer", "operator", "none", "none")
    ]

    assert statuses == ["created", "unchanged", "changed", "ended", "unchanged"]
    assert not SiteMembership.objects.filter(user__username="deniz").exists()
    assert LogEntry.objects.filter(object_id=str(site.pk)).count() == 3


def test_a_dry_run_stores_no_one(root: Api, site: Site) -> None:
    answer = store(root, member(site), dryRun=True).json()

    assert (answer["dryRun"], answer["created"], answer["newPeople"]) == (True, 1, 1)
    assert not User.objects.filter(username="deniz").exists()


def test_one_invalid_member_refuses_all_with_the_errors_of_the_import(root: Api, site: Site) -> None:
    reserved = f"site-{site.public_id}"
    asked = [
        member(site),
        member(site, username="not a name!", email="nowhere"),
        {**member(site, "ayse"), "site": "Nowhere"},
        member(site, "gone", "none"),
        member(site, reserved),
        member(site, role="viewer"),
    ]

    found = faults(store(root, *asked))

    assert set(found) == {
        "members.1.username",
        "members.1.email",
        "members.2.site",
        "members.3.username",
        "members.4.username",
        "members.5.username",
    }
    assert found["members.5.username"] == "members.0 has the same person and site."
    assert not User.objects.filter(username="deniz").exists()


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"role": "owner"}, "role"),
        ({"role": None}, "role"),
        ({"username": 5}, "username"),
        ({"password": "secret-123456"}, "password"),
        ({"isSuperuser": True}, "isSuperuser"),
        ({"is_superuser": True}, "is_superuser"),
        ({"groups": ["admin"]}, "groups"),
    ],
)
def test_bad_input_is_named_and_nothing_is_stored(root: Api, site: Site, item: dict[str, Any], field: str) -> None:
    answer = store(root, {**member(site), **item})

    assert list(faults(answer)) == [f"members.0.{field}"]
    assert not User.objects.filter(username="deniz").exists()


def test_only_keys_of_owners_appoint_and_remove_admins(site: Site) -> None:
    root = agency_api(make_user(role="owner"))
    own = agency_api(make_admin("boss", sites={site: "admin"}))

    refused = [store(own, member(site, name, role)) for name, role in (("deniz", "admin"), ("boss", "viewer"))]
    allowed = store(root, member(site, "deniz", "admin"))

    assert [list(faults(each)) for each in refused] == [["members.0.role"]] * 2
    assert allowed.json()["created"] == 1
    assert SiteMembership.objects.filter(role="admin").count() == 2


def test_an_admin_neither_adds_to_nor_sees_other_sites(make_site: Callable[..., Site]) -> None:
    own, other = make_site(name="Own"), make_site(name="Other")
    make_admin("stranger", sites={other: "operator"})
    api = agency_api(make_admin(sites={own: "admin"}))

    found = faults(store(api, member(other), member(own, "stranger")))
    listed = api.get("oci/members")

    assert set(found) == {"members.0.site", "members.1.username"}
    assert [(each["username"], each["siteName"]) for each in listed.json()["members"]] == [("agency", "Own")]
    assert api.get("oci/members", site=other.public_id).status_code == 400


def test_members_are_listed_in_pages_without_the_users_of_keys(root: Api, make_site: Callable[..., Site]) -> None:
    site, other = make_site(), make_site(name="Other")
    site.issue_key(name="script")
    store(root, *(member(site, f"person{number}") for number in range(3)), member(other, "person0"))

    first = root.get("oci/members", site=site.public_id, limit=2).json()
    second = root.get("oci/members", site=site.public_id, limit=2, cursor=first["nextCursor"]).json()

    names = [each["username"] for each in first["members"] + second["members"]]
    assert (names, second["nextCursor"]) == (["person0", "person1", "person2"], None)
    assert root.get("oci/members", cursor="_____________________w").json()["members"] == []


def test_a_viewer_who_becomes_operator_of_a_site_acts_nowhere_until_an_owner_adds_the_group(root, site) -> None:
    viewer = make_user("deniz", role="viewer")
    (row,) = make_failed(site)
    body = {"siteId": site.public_id, "action": "RETRY_SELECTED", "ids": [str(row)]}

    (stored,) = store(root, member(site)).json()["results"]
    before = Api(client=browser_of(viewer)).post("oci/queue-actions", body)
    page = browser_of(viewer).get(f"/admin/ociqueue/conversion/{row.pk}/change/").content.decode()
    viewer.groups.set(Group.objects.filter(name="operator"))
    after = Api(client=browser_of(viewer)).post("oci/queue-actions", body)

    assert (stored["status"], stored["missingGroup"]) == ("created", "operator")
    assert before.status_code == 403
    assert "group" in before.json()["error"]["message"]
    assert "act/retry" not in page
    assert (after.status_code, after.json()["affected"]) == (200, 1)
    assert store(root, member(site)).json()["results"][0]["missingGroup"] is None
