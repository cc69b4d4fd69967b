"""Roles are groups made by a migration; what they may do follows from the models."""

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.test import override_settings

from kilit.access.roles import Role, actor_of, grant, has_permission, is_owner, role_of
from kilit.lock.models import Event
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def person(*roles: str, **columns: object) -> User:
    user = User.objects.create_user("ayse", is_staff=True, **columns)
    user.groups.set(Group.objects.filter(name__in=roles))
    return User.objects.get(pk=user.pk)


def test_the_migrations_made_four_roles() -> None:
    assert set(Group.objects.values_list("name", flat=True)) == {"viewer", "operator", "admin", "owner"}


def test_a_viewer_sees_and_touches_nothing() -> None:
    viewer = person("viewer")

    assert viewer.has_perm("workers.view_heartbeat")
    assert viewer.has_perm("ociqueue.view_conversion")
    assert not viewer.has_perm("ociqueue.operate_conversion")
    assert not viewer.has_perm("access.add_apikey")
    assert not viewer.has_perm("auth.view_user")


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_tables_of_all_tenants_are_for_owners_only(client, role: str) -> None:
    client.force_login(person(role))

    for page in ("lock/pruning", "access/deniedrequest"):
        assert client.get(f"/admin/{page}/").status_code == 403, page
    assert client.get("/admin/access/apikey/").status_code == (200 if role == "admin" else 403)


def test_an_admin_manages_keys_and_people_and_an_owner_all_there_is() -> None:
    of_admins = ["access.add_apikey", "auth.change_user"]
    of_owners = ["lock.view_event", "orchestrator.change_rulesversion", "access.own_installation"]

    admin = person("admin")
    assert admin.has_perms(of_admins)
    assert not any(admin.has_perm(permission) for permission in of_owners)
    admin.groups.set(Group.objects.filter(name="owner"))
    assert User.objects.get(pk=admin.pk).has_perms([*of_admins, *of_owners])


@pytest.mark.parametrize(("columns", "expected"), [({}, True), ({"is_active": False}, False)])
@pytest.mark.parametrize("role", ["owner", "superuser"])
def test_owners_and_superusers_run_the_installation_while_they_are_active(role: str, columns, expected) -> None:
    assert is_owner(person(role, is_superuser=role == "superuser", **columns)) is expected


def test_nobody_else_runs_the_installation() -> None:
    assert not is_owner(person("viewer", "operator", "admin"))
    assert not is_owner(AnonymousUser())


def test_a_role_loses_what_is_no_longer_granted() -> None:
    group, permission = Group.objects.get(name="admin"), Permission.objects.get(codename="view_event")
    group.permissions.add(permission)

    grant(apps.get_app_config("lock"))

    assert not group.permissions.filter(pk=permission.pk).exists()
    assert group.permissions.filter(codename="view_activity").exists()


@pytest.mark.parametrize("permission", ["pdfjobs.operate_pdfjob", "pdfjobs.view_pdfjob", "auth.view_user", "none"])
@pytest.mark.parametrize("role", ["viewer", "operator", "admin", "owner", "of a user", "superuser", "no one"])
def test_a_single_permission_is_held_as_django_says(role: str, permission: str, django_assert_max_num_queries) -> None:
    user = person(role, is_superuser=role == "superuser")
    if role == "of a user":
        user.user_permissions.set(Permission.objects.filter(codename="operate_pdfjob"))

    with django_assert_max_num_queries(1):
        is_held = has_permission(user, permission)

    assert is_held == user.has_perm(permission)


def test_someone_who_may_not_log_in_holds_no_permission() -> None:
    assert not has_permission(person("admin", is_superuser=True, is_active=False), "auth.view_user")
    assert not has_permission(AnonymousUser(), "auth.view_user")


def test_the_highest_role_counts_and_names_the_actor() -> None:
    assert role_of(AnonymousUser()) is None
    assert actor_of(AnonymousUser()) == "user:anonymous"
    assert actor_of(person("viewer", "operator")) == "operator:ayse"
    assert role_of(User(is_superuser=True)) is Role.OWNER
    assert actor_of(User(username="can", is_superuser=True)) == "admin:can"


def test_what_a_person_does_in_the_console_bears_their_name(client) -> None:
    client.force_login(person("operator"))
    parcel = Parcel.objects.create()

    with override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, "tests.kilit.access.test_roles.LoseAll"]):
        client.get("/admin/")

    assert Event.objects.of(parcel).last().actor == "operator:ayse"


class LoseAll:
    """A middleware that acts within the request, as a view would."""

    def __init__(self, get_response) -> None:
        self.get_response = get_response

    def __call__(self, request):
        Parcel.objects.move("lose")
        return self.get_response(request)


def test_doorbells_cannot_be_tampered_with_in_the_console(admin_client) -> None:
    assert "Django Q" not in admin_client.get("/admin/").content.decode()
    assert admin_client.get("/admin/django_q/schedule/").status_code == 404
    assert not person("admin").has_perm("django_q.add_schedule")


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_neither_an_admin_nor_an_owner_becomes_a_superuser(client, role: str) -> None:
    admin = person(role)
    root = User.objects.create_superuser("root", password="secret-of-root")
    client.force_login(admin)

    own = {"username": "ayse", "first_name": "Ayşe", "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    every = [permission.pk for permission in Permission.objects.filter(content_type__app_label="django_q")]
    own |= {"groups": [group.pk for group in admin.groups.all()], "user_permissions": every}
    own |= {"date_joined_0": "2026-11-01", "date_joined_1": "10:00:00"}
    assert client.post(f"/admin/auth/user/{admin.pk}/change/", own).status_code == 302
    password = {"password1": "a-new-password-1", "password2": "a-new-password-1"}
    client.post(f"/admin/auth/user/{root.pk}/password/", password)

    admin.refresh_from_db()
    root.refresh_from_db()
    assert admin.first_name == "Ayşe"  # the form was taken, but for what is not theirs to give
    assert not admin.is_superuser
    assert not admin.user_permissions.exists()
    assert root.check_password("secret-of-root")
    seen = client.get(f"/admin/auth/user/{root.pk}/change/")
    assert seen.status_code == (302 if role == "admin" else 200)
    assert 'name="_save"' not in seen.content.decode()


def test_neither_roles_nor_history_have_pages(admin_client) -> None:
    assert admin_client.get("/admin/auth/group/").status_code == 404
    assert admin_client.get("/admin/lock/event/").status_code == 404
