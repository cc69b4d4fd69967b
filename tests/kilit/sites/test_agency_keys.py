"""Keys with the scope admin: who issues them, what they open, and how they end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.test import Client

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey, DeniedRequest
from ociqueue.models import Site
from tests.support.agency import agency_api, issue_admin_key, make_admin
from tests.support.api import Api, is_limited

pytestmark = pytest.mark.django_db

KEYS = "/admin/access/apikey/"
NEXT_WEEK = datetime.now(UTC) + timedelta(days=7)


def form(user: User, **more: Any) -> dict[str, Any]:
    ends = {"expires_at_0": NEXT_WEEK.strftime("%Y-%m-%d"), "expires_at_1": "12:00:00"}
    return {"user": user.pk, "name": "provisioning", "scopes": ["admin"], **ends, **more}


def errors(answer: Any) -> dict[str, list[str]]:
    return dict(answer.context["adminform"].form.errors)


@pytest.mark.parametrize("path", ["oci/sites", "oci/members"])
def test_a_sites_key_manages_nothing(site: Site, site_key: Any, path: str) -> None:
    api = Api(site_key(site))

    answers = [api.get(path), api.post(path, {}), api.post("oci/sites/archive", {"sites": [site.public_id]})]

    assert [answer.json()["error"]["code"] for answer in answers] == ["MISSING_SCOPE"] * 3
    assert DeniedRequest.objects.exists()


def test_a_sites_user_manages_nothing_whatever_its_key_says(site: Site) -> None:
    """Only the console stands between a site's user and a key with this scope, so the rights are checked as well."""
    api = agency_api(site.service_user())

    answers = [api.get("oci/sites"), api.post("oci/sites", {"sites": [{"name": "Mine"}]})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert Site.objects.count() == 1


def test_an_admin_key_is_for_nothing_else(admin_user: User, site: Site) -> None:
    api = agency_api(admin_user)

    assert api.get("oci/conversions", siteId=site.public_id, sourceKey="x").status_code == 403
    assert api.get("oci/google-ads-export", siteId=site.public_id).status_code == 403
    for columns in ({"scopes": ["admin", "read"]}, {"expires_at": None}):
        with pytest.raises(IntegrityError, match="admin_key_is_separate_and_expires"), transaction.atomic():
            ApiKey.objects.update(**columns)


@pytest.mark.parametrize("columns", [{"revoked_at": NEXT_WEEK}, {"expires_at": NEXT_WEEK - timedelta(days=9)}])
def test_a_revoked_or_expired_key_manages_nothing(admin_user: User, columns: dict[str, Any]) -> None:
    api = Api(issue_admin_key(admin_user, **columns))

    assert api.get("oci/sites").status_code == 401
    assert api.post("oci/sites", {"sites": [{"name": "Mine"}]}).status_code == 401
    assert not Site.objects.exists()


def test_a_key_loses_what_its_user_loses(site: Site) -> None:
    user = make_admin(sites={site: "admin"})
    api = agency_api(user)
    assert api.get("oci/sites").status_code == 200

    user.groups.set(Group.objects.filter(name="viewer"))
    assert api.get("oci/sites").status_code == 403

    User.objects.filter(pk=user.pk).update(is_active=False)
    assert api.get("oci/sites").status_code == 401


def test_a_session_does_not_open_the_endpoints(admin_client: Client) -> None:
    assert admin_client.get("/api/oci/sites").status_code == 401


def test_an_owner_issues_an_admin_key_that_is_shown_once(make_person: Any, site: Site) -> None:
    owner, admin = make_person("owner", role="owner"), make_admin(sites={site: "admin"})
    shown = owner.post(f"{KEYS}add/", form(admin), follow=True).content.decode()

    key = ApiKey.objects.get()
    assert key.scopes == ["admin"]
    assert "kilit_" in shown
    assert "kilit_" not in owner.get(KEYS).content.decode()


@pytest.mark.parametrize("owned_by", ["the admin", "a service"])
def test_an_admin_issues_no_admin_key(make_person: Any, site: Site, owned_by: str) -> None:
    admin = make_person(role="admin", sites={site: "admin"})
    owner = User.objects.get(username="ayse")
    if owned_by == "a service":
        owner = User.objects.create_user("service")
        owner.site_memberships.create(site=site)

    offered = admin.get(f"{KEYS}add/").content.decode()
    refused = admin.post(f"{KEYS}add/", form(owner))

    assert 'value="admin"' not in offered
    assert "scopes" in errors(refused)
    assert not ApiKey.objects.exists()


def test_an_admin_neither_extends_nor_widens_an_admin_key_but_revokes_it(make_person: Any, site: Site) -> None:
    admin = make_person(role="admin", sites={site: "admin"})
    user = User.objects.get(username="ayse")
    issue_admin_key(user)
    key = ApiKey.objects.get()

    admin.post(f"{KEYS}{key.pk}/change/", {"name": "mine", "scopes": ["read"], "expires_at_0": "", "expires_at_1": ""})
    assert ApiKey.objects.values_list("name", "expires_at").get() == (key.name, key.expires_at)

    admin.post(KEYS, {"action": "revoke", "_selected_action": [key.pk]})
    assert ApiKey.objects.get().revoked_at


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"scopes": ["read", "admin"]}, "scopes"),
        ({"expires_at_0": "", "expires_at_1": ""}, "expires_at"),
        ({"expires_at_0": str(NEXT_WEEK.year + 2) + "-01-01"}, "expires_at"),
    ],
)
def test_the_form_says_what_an_admin_key_needs(
    admin_client: Client, admin_user: User, given: dict[str, Any], field: str
) -> None:
    refused = admin_client.post(f"{KEYS}add/", form(admin_user, **given))

    assert list(errors(refused)) == [field]
    assert not ApiKey.objects.exists()


def test_the_user_of_an_admin_key_must_be_an_admin(admin_client: Client) -> None:
    service = User.objects.create_user("service")

    refused = admin_client.post(f"{KEYS}add/", form(service))

    assert errors(refused) == {"scopes": ["The key's user may not administer sites: choose an admin or an owner."]}


def test_admin_keys_have_a_rate_limit_of_their_own(admin_user: User, settings: Any) -> None:
    settings.ADMIN_RATE_PER_MINUTE = 2
    api = agency_api(admin_user)

    assert is_limited(lambda: api.get("oci/sites"), after=2)


def test_new_keys_have_no_scope_admin_unless_it_is_chosen(admin_user: User) -> None:
    key, _ = ApiKey.objects.issue(admin_user, name="shop")

    assert KeyScope.ADMIN not in key.scopes
