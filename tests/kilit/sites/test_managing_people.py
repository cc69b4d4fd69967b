"""People are managed within one's own sites, and only owners manage admins."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import IntegrityError, transaction
from django.test import Client

from kilit.access.models import ApiKey, DeniedRequest
from kilit.sites.models import SiteMembership
from kilit.sites.people import people_managed_by
from ociqueue.models import Site
from tests.support.people import browser_of

pytestmark = pytest.mark.django_db

PEOPLE, KEYS = "/admin/auth/user/", "/admin/access/apikey/"
OLD, NEW = "a right long password", "a-new-password-1"
PASSWORD = {"password1": NEW, "password2": NEW, "usable_password": "true"}

# role and sites of each, as in `make_people`
SITES = {
    "root": {},
    "owner": {},
    "admin-of-b": {"B": "admin"},
    "second-admin-of-b": {"B": "admin"},
    "admin-of-both": {"A": "admin", "B": "admin"},
    "admin-of-no-site": {},
    "operator-of-a": {"A": "operator"},
    "operator-of-b": {"B": "operator"},
    "operator-of-both": {"A": "operator", "B": "operator"},
    "operator-of-no-site": {},
    "admin-of-b-without-group": {"B": "admin"},
    "viewer-of-b-with-group": {"B": "viewer"},
    "viewer-of-b-with-permission": {"B": "viewer"},
}


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """Make one of each: their group is the first part of their name."""
    sites = {name: Site.objects.create(name=name) for name in ("A", "B")}
    found = {}
    for name, roles in SITES.items():
        user = User.objects.create(username=name, is_staff=True, is_superuser=name == "root")
        group = name.removeprefix("second-").partition("-")[0]
        user.groups.set(Group.objects.filter(name="" if "without-group" in name else group))
        for site, role in roles.items():
            SiteMembership.objects.create(site=sites[site], user=user, role=role)
        found[name] = user
    found["viewer-of-b-with-group"].groups.add(Group.objects.create(name="night shift"))
    found["viewer-of-b-with-permission"].user_permissions.add(Permission.objects.get(codename="view_event"))
    found["keys-of-b"] = sites["B"].service_user()
    return found


@pytest.fixture
def enter(people) -> Callable[[str], Client]:
    return lambda name: browser_of(people[name])


ALL, LOOK, OWN, NOTHING = {"view", "change", "delete", "issue key"}, {"view"}, {"view", "change", "issue key"}, set()
OF_B = {
    "operator-of-b": ALL,
    "operator-of-both": LOOK,
    "second-admin-of-b": LOOK,
    "admin-of-both": LOOK,
    "admin-of-b-without-group": LOOK,
    "viewer-of-b-with-group": LOOK,
    "viewer-of-b-with-permission": LOOK,
}
# What is not listed may not even be viewed.
MATRIX = {
    "root": dict.fromkeys(SITES, ALL),
    "owner": {**dict.fromkeys(SITES, ALL), "root": LOOK},
    "admin-of-b": {"admin-of-b": OWN, **OF_B},
    "admin-of-both": {
        **OF_B,
        "admin-of-both": OWN,
        "admin-of-b": LOOK,
        "operator-of-a": ALL,
        "operator-of-both": ALL,
    },
    "admin-of-no-site": {"admin-of-no-site": OWN},
    "operator-of-b": {},
    "viewer-of-b-with-permission": {},
}


@pytest.mark.parametrize("actor", MATRIX)
def test_who_may_do_what_with_whom(people, rf, actor: str) -> None:
    request = rf.get(PEOPLE)
    request.user = people[actor]
    page: Any = admin.site.get_model_admin(User)

    def allowed(person: User) -> set[str]:
        asked = {"view": page.has_view_permission, "change": page.has_change_permission}
        asked["delete"] = page.has_delete_permission
        keys = people_managed_by(request.user, itself=True).filter(pk=person.pk).exists()
        may = {verb for verb, ask in asked.items() if ask(request, person)}
        return may | ({"issue key"} if keys and request.user.has_perm("access.add_apikey") else set())

    found = {name: allowed(person) for name, person in people.items()}
    listed = set(page.get_queryset(request).values_list("username", flat=True))

    assert found == {name: MATRIX[actor].get(name, NOTHING) for name in people}
    if MATRIX[actor]:
        assert listed == set(MATRIX[actor])


def form_of(person: User, **changes: Any) -> dict[str, Any]:
    kept = {"username": person.username, "is_active": "on", "is_staff": "on", "groups": [*ids(person.groups)]}
    return {**kept, "date_joined_0": "2026-11-01", "date_joined_1": "10:00:00", **changes}


def ids(groups: Any) -> list[int]:
    return list(groups.values_list("pk", flat=True))


@pytest.mark.parametrize(
    "name", ["operator-of-a", "operator-of-both", "second-admin-of-b", "operator-of-no-site", "root", "keys-of-b"]
)
def test_an_admin_cannot_take_over_who_is_not_only_of_its_sites(people, enter, name: str) -> None:
    target, client = people[name], enter("admin-of-b")
    target.set_password(OLD)
    target.save()
    selected = {"action": "delete_selected", "_selected_action": [target.pk], "post": "yes"}

    client.post(f"{PEOPLE}{target.pk}/password/", PASSWORD)
    client.post(f"{PEOPLE}{target.pk}/change/", form_of(target, email="thief@example.com"))
    client.post(f"{PEOPLE}{target.pk}/delete/", {"post": "yes"})
    client.post(PEOPLE, selected)
    client.post(f"{KEYS}add/", {"user": target.pk, "name": "mine now", "scopes": ["read"]})

    target.refresh_from_db()
    assert target.check_password(OLD)
    assert target.email == ""
    assert not ApiKey.objects.filter(user=target).exists()
    assert DeniedRequest.objects.exists()


def test_an_admin_manages_the_people_of_its_site(people, enter) -> None:
    target, client = people["operator-of-b"], enter("admin-of-b")

    client.post(f"{PEOPLE}{target.pk}/password/", PASSWORD)
    client.post(f"{PEOPLE}{target.pk}/change/", form_of(target, email="new@example.com"))
    client.post(f"{KEYS}add/", {"user": target.pk, "name": "billing", "scopes": ["enqueue"]})

    target.refresh_from_db()
    assert target.check_password(NEW)
    assert target.email == "new@example.com"
    assert target.api_keys.get().name == "billing"

    client.post(PEOPLE, {"action": "delete_selected", "_selected_action": [target.pk], "post": "yes"})
    assert User.objects.filter(pk=target.pk).exists()  # its key is part of the history
    ApiKey.objects.all().delete()
    client.post(PEOPLE, {"action": "delete_selected", "_selected_action": [target.pk], "post": "yes"})
    assert not User.objects.filter(pk=target.pk).exists()


def test_an_admin_gives_no_role_above_operator_and_no_other_group(people, enter) -> None:
    target, client = people["operator-of-b"], enter("admin-of-b")
    every = [*ids(Group.objects)]

    refused = client.post(f"{PEOPLE}{target.pk}/change/", form_of(target, groups=every, is_superuser="on"))
    client.post(f"{PEOPLE}{target.pk}/change/", form_of(target, user_permissions=[1], is_superuser="on"))

    target.refresh_from_db()
    assert "groups" in refused.context["adminform"].form.errors
    assert [group.name for group in target.groups.all()] == ["operator"]
    assert not target.is_superuser
    assert not target.user_permissions.exists()


def test_an_admin_changes_only_their_own_name_and_email(people, enter) -> None:
    own, client = people["admin-of-b"], enter("admin-of-b")
    form = form_of(own, first_name="Ayşe", username="root2", groups=[*ids(Group.objects)], is_superuser="on")

    client.post(f"{PEOPLE}{own.pk}/change/", form)
    client.post(f"{PEOPLE}{own.pk}/delete/", {"post": "yes"})
    without_old = client.post(f"{PEOPLE}{own.pk}/password/", PASSWORD)

    own.refresh_from_db()
    assert (own.first_name, own.username, own.is_superuser) == ("Ayşe", "admin-of-b", False)
    assert [group.name for group in own.groups.all()] == ["admin"]
    assert without_old["Location"] == "/admin/password_change/"  # which asks for the old one
    assert not own.check_password(NEW)


def test_who_is_added_by_an_admin_becomes_a_member_of_its_site(people, enter) -> None:
    client, mine, other = enter("admin-of-b"), Site.objects.get(name="B"), Site.objects.get(name="A")
    form = {"username": "new", **PASSWORD, "role": "operator"}

    refused = [client.post(f"{PEOPLE}add/", {**form, **change}) for change in ({}, {"site": other.pk})]
    too_much = client.post(f"{PEOPLE}add/", {**form, "site": mine.pk, "role": "admin"})
    assert [[*answer.context["adminform"].form.errors] for answer in [*refused, too_much]] == [
        ["site"],
        ["site"],
        ["role"],
    ]
    client.post(f"{PEOPLE}add/", {**form, "site": mine.pk})

    new = User.objects.get(username="new")
    assert [group.name for group in new.groups.all()] == ["operator"]
    assert new.is_staff
    membership = new.site_memberships.get()
    assert (membership.site_id, membership.role) == (mine.pk, "operator")
    assert new in people_managed_by(people["admin-of-b"])


def test_an_admin_of_no_site_adds_no_one_and_a_superuser_anyone(people, enter) -> None:
    assert enter("admin-of-no-site").post(f"{PEOPLE}add/", {"username": "new", **PASSWORD}).status_code == 403

    enter("root").post(f"{PEOPLE}add/", {"username": "new", **PASSWORD})

    assert not User.objects.get(username="new").site_memberships.exists()


def test_an_owner_appoints_admins_and_owners_but_gives_no_permission(people, enter) -> None:
    target, client = people["operator-of-no-site"], enter("owner")
    roles = ids(Group.objects.filter(name__in=["admin", "owner"]))

    client.post(f"{PEOPLE}{target.pk}/change/", form_of(target, groups=roles, is_superuser="on", user_permissions=[1]))

    target.refresh_from_db()
    assert set(target.groups.values_list("name", flat=True)) == {"admin", "owner"}
    assert (target.is_superuser, target.user_permissions.count()) == (False, 0)


def test_groups_of_the_installation_are_a_filter_for_owners_only(enter) -> None:
    offered = {name: enter(name).get(PEOPLE).context["cl"].controls.fields() for name in ("admin-of-b", "owner")}

    assert offered["admin-of-b"] == []
    assert [field.name for field in offered["owner"]] == ["role"]


def test_a_membership_is_never_that_of_an_owner(people) -> None:
    with pytest.raises(IntegrityError, match="membership_has_role_of_a_site"), transaction.atomic():
        SiteMembership.objects.filter(user=people["operator-of-b"]).update(role="owner")


def members_form(client: Client, site: Site, *rows: dict[str, Any]) -> Any:
    sizes = {
        "memberships-TOTAL_FORMS": len(rows),
        "memberships-INITIAL_FORMS": sum(bool(row.get("id")) for row in rows),
    }
    form = {f"memberships-{at}-{name}": value for at, row in enumerate(rows) for name, value in row.items()}
    return client.post(f"/admin/ociqueue/site/{site.pk}/members/", {**sizes, **form})


def test_an_admin_adds_only_people_it_sees_to_its_site(people, enter) -> None:
    """Otherwise a person without a site could be taken over by making them a member."""
    site, client = Site.objects.get(name="B"), enter("admin-of-b")

    for name in ("operator-of-no-site", "operator-of-a", "root"):
        members_form(client, site, {"site": site.pk, "user": people[name].pk, "role": "viewer"})

    assert not site.memberships.filter(user__username__in=["operator-of-no-site", "operator-of-a", "root"]).exists()


def test_only_owners_appoint_change_and_remove_a_sites_admins(people, enter) -> None:
    site, client = Site.objects.get(name="B"), enter("admin-of-b")
    other, operator = people["second-admin-of-b"], people["operator-of-b"]

    def row(user: User, **changes: Any) -> dict[str, Any]:
        membership = site.memberships.get(user=user)
        return {"id": membership.pk, "site": site.pk, "user": user.pk, "role": membership.role, **changes}

    def roles() -> tuple[str | None, str]:
        found = dict(site.memberships.values_list("user", "role"))
        return found.get(other.pk), found[operator.pk]

    for change in (row(other, role="viewer"), row(other, DELETE="on"), row(operator, role="admin")):
        refused = members_form(client, site, change)
        assert "Only owners" in refused.content.decode()
        assert roles() == ("admin", "operator")
    assert members_form(client, site, row(operator, role="viewer"), row(other)).status_code == 302
    assert roles() == ("admin", "viewer")

    members_form(enter("owner"), site, row(other, DELETE="on"), row(operator, role="admin"))
    assert roles() == (None, "admin")
