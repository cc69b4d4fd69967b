"""Who issues keys in the console, and for whom: a site's keys come from its own page alone."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from kilit.access.key_scopes import DEFAULT_SCOPES
from kilit.access.models import ApiKey, DeniedRequest

pytestmark = pytest.mark.django_db

KEYS = "/admin/access/apikey/"
PEOPLE = "/admin/auth/user/"
CHOICE = "/admin/autocomplete/?app_label=access&model_name=apikey&field_name=user&term="


@pytest.fixture(params=["admin", "owner", "superuser"])
def outsider(request, make_person, admin_client):
    """A user who may issue keys, and is a member of no site."""
    return admin_client if request.param == "superuser" else make_person(role=request.param)


def test_nobody_issues_a_sites_key_beside_its_page(outsider, site, site_key) -> None:
    site_key(site)
    service = site.service_user()

    choice = outsider.get(f"{CHOICE}site-").json()
    refused = outsider.post(f"{KEYS}add/", {"user": service.pk, "name": "mine now"})

    assert choice["results"] == []
    assert refused.context["adminform"].form.errors["user"] == [
        "You cannot issue a key for this user. Keys of a site are issued on the site's page."
    ]
    assert service.api_keys.count() == 1


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_nobody_else_issues_a_key_of_a_superuser(make_person, admin_user, role: str) -> None:
    refused = make_person(role=role).post(f"{KEYS}add/", {"user": admin_user.pk, "name": "mine now"})

    assert "user" in refused.context["adminform"].form.errors
    assert not ApiKey.objects.exists()


def test_an_admin_issues_keys_of_the_people_and_services_of_its_sites(admin, site) -> None:
    service = User.objects.create_user("site-manager")
    service.site_memberships.create(site=site)

    choice = admin.get(f"{CHOICE}site-").json()
    admin.post(f"{KEYS}add/", {"user": service.pk, "name": "billing", "scopes": DEFAULT_SCOPES})

    assert [chosen["text"] for chosen in choice["results"]] == ["site-manager"]
    assert service.api_keys.get().name == "billing"


def test_the_users_behind_sites_keys_are_out_of_everybodys_reach(outsider, site) -> None:
    service = site.service_user()
    password = {"password1": "a-new-password-1", "password2": "a-new-password-1", "usable_password": "true"}
    form = {"username": "mine", "is_staff": "on", "groups": [Group.objects.get(name="admin").pk]}

    listed = outsider.get(f"{PEOPLE}?q=site-").context["cl"].result_list
    outsider.post(f"{PEOPLE}{service.pk}/password/", password)
    outsider.post(f"{PEOPLE}{service.pk}/change/", form)
    outsider.post(f"{PEOPLE}{service.pk}/delete/", {"post": "yes"})

    assert service not in listed
    service.refresh_from_db()
    assert not service.has_usable_password()
    assert (service.username, service.is_staff, service.groups.count()) == (f"site-{site.public_id}", False, 0)


@pytest.mark.parametrize("role", ["admin", "superuser"])
def test_nobody_takes_the_name_of_a_sites_user(make_person, admin_client, site, role: str) -> None:
    client = admin_client if role == "superuser" else make_person(role="admin", sites={site: "admin"})
    form = {"password1": "a-new-password-1", "password2": "a-new-password-1", "usable_password": "true"}
    form |= {"site": site.pk, "role": "viewer"}

    refused = client.post(f"{PEOPLE}add/", {"username": f"site-{site.public_id}", **form})

    assert refused.context["adminform"].form.errors["username"] == [
        "This name is reserved for the keys of a site. Choose another one."
    ]
    assert not User.objects.filter(username__startswith="site-").exists()


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_who_manages_a_site_sees_and_revokes_its_keys_but_prolongs_none(make_person, site, site_key, role) -> None:
    key = ApiKey.objects.holding(site_key(site))
    admin = make_person(role=role, sites={site: "admin"} if role == "admin" else {})
    form = {"name": "mine", "scopes": DEFAULT_SCOPES, "expires_at_0": "2099-01-01", "expires_at_1": "00:00"}

    page = admin.get(f"{KEYS}{key.pk}/change/")
    admin.post(f"{KEYS}{key.pk}/change/", form)
    key.refresh_from_db()
    assert page.status_code == 200
    assert (key.name, key.expires_at) == ("test", None)

    admin.post(KEYS, {"action": "revoke", "_selected_action": [key.pk]})
    key.refresh_from_db()
    assert key.revoked_at
    assert not DeniedRequest.objects.exists()


def test_an_admin_neither_sees_nor_revokes_keys_of_others(make_person, make_site, site, site_key, admin_user) -> None:
    operator = User.objects.create_user("operator-there")
    operator.site_memberships.create(site=site, role="operator")
    keys = [ApiKey.objects.holding(site_key(site))]
    keys += [ApiKey.objects.issue(user, name=f"of {user}")[0] for user in (operator, admin_user)]
    admin = make_person(role="admin", sites={make_site(name="Own"): "admin", site: "operator"})

    listed = admin.get(KEYS)
    searched = admin.get(f"{KEYS}?q={site.name}")
    pages = [admin.get(f"{KEYS}{key.pk}/change/") for key in keys]
    for key in keys:
        admin.post(KEYS, {"action": "revoke", "_selected_action": [key.pk]})

    assert [*listed.context["cl"].result_list, *searched.context["cl"].result_list] == []
    assert {page.status_code for page in pages} == {302}  # to the first page: there is no such key
    assert not ApiKey.objects.filter(revoked_at__isnull=False).exists()


def test_an_owner_revokes_every_key(make_person, site, site_key, admin_user) -> None:
    keys = [ApiKey.objects.holding(site_key(site)), ApiKey.objects.issue(admin_user, name="of a superuser")[0]]
    owner = make_person(role="owner")

    owner.post(KEYS, {"action": "revoke", "_selected_action": [key.pk for key in keys]})

    assert not ApiKey.objects.filter(revoked_at=None).exists()


def test_a_page_that_is_sent_again_issues_no_second_key(admin, site) -> None:
    address = f"/admin/ociqueue/site/{site.pk}/ads-script/issue-key/"
    form = {"name": "New script", "scopes": DEFAULT_SCOPES, **admin.get(address).context["kept"]}

    admin.post(address, form)
    reloaded = admin.post(address, form, follow=True)
    by_hand = admin.post(address, {"name": "New script", "scopes": DEFAULT_SCOPES}, follow=True)

    for answer in (reloaded, by_hand):
        (reported,) = [str(message) for message in answer.context["messages"]]
        assert reported == "No key was issued: another was issued meanwhile. Revoke that one if it was lost."
        assert not answer.context["has_key"]
    assert site.keys().count() == 1

    admin.post(address, {**form, "name": "Another", **admin.get(address).context["kept"]})
    assert set(site.keys().values_list("name", flat=True)) == {"Another", "New script"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", [True, False])
def test_two_clicks_at_once_issue_one_key(admin, site, site_key, in_threads, first) -> None:
    if not first:
        site_key(site)
    address = f"/admin/ociqueue/site/{site.pk}/ads-script/issue-key/"
    form = {"name": "New script", "scopes": DEFAULT_SCOPES, **admin.get(address).context["kept"]}

    def click(_: int) -> int:
        client = Client()
        client.cookies = admin.cookies
        return client.post(address, form).status_code

    answers = in_threads(click, count=6)

    assert sorted(answers) == [200, 302, 302, 302, 302, 302]
    assert site.keys().filter(name="New script").count() == 1


def test_keys_of_sites_are_listed_by_the_sites_name(admin_client, site, site_key) -> None:
    site_key(site)
    service = site.service_user()

    listed = admin_client.get(KEYS).text
    opened = admin_client.get(f"{KEYS}{service.api_keys.get().pk}/change/").text

    for shown in (listed, opened):
        assert re.search(rf">\s*{site.name}\s*<", shown)
        assert service.username not in shown


def test_users_are_listed_with_their_roles_and_last_login(admin_client, make_person) -> None:
    make_person("zeynep", role="viewer")
    User.objects.filter(username="zeynep").update(last_login="2026-03-04T05:06:07Z")

    shown = admin_client.get(PEOPLE).text

    assert re.search(r"field-roles[^>]*>\s*viewer", shown)
    assert re.search(r"field-roles[^>]*>\s*superuser", shown)
    assert re.search(r"field-last_login[^>]*>[^<]*2026", shown)


def test_a_new_key_can_be_copied(admin_client, admin_user, make_person, site) -> None:
    form = {"name": "billing", "scopes": DEFAULT_SCOPES}
    beside = admin_client.post(f"{KEYS}add/", {"user": admin_user.pk, **form}, follow=True).text
    on_page = make_person(role="admin", sites={site: "admin"}).post(
        f"/admin/ociqueue/site/{site.pk}/ads-script/issue-key/", {**form, "after": "none"}
    )

    for shown in (beside, on_page.text):
        (key,) = re.findall(r"<code>(kilit_[\w-]+)</code>", shown)
        assert f'data-copy="{key}"' in shown
        assert 'data-copied="Copied"' in shown
        assert 'aria-label="Copy: the new key"' in shown


def test_keys_are_found_by_the_name_of_their_site(admin_client, make_site) -> None:
    for name in ("Ege Mobilya", "Anadolu"):
        make_site(name=name).issue_key(name=f"key of {name}")

    html = admin_client.get("/admin/access/apikey/", {"q": "ege mob"}).text

    assert "key of Ege Mobilya" in html
    assert "key of Anadolu" not in html


def test_a_sites_page_offers_the_scopes_of_a_key_in_words_and_lists_them(admin, site) -> None:
    address = f"/admin/ociqueue/site/{site.pk}/ads-script/issue-key/"

    presets = admin.get(f"/admin/ociqueue/site/{site.pk}/ads-script/").text
    assert re.findall(r'name="scopes" value="(\w+)"', presets) == ["enqueue", "script"], "for one program each"
    page = admin.get(address).text
    boxes = re.findall(r'<input[^>]*name="scopes"[^>]*>', page)
    assert [bool(re.search(r"\schecked[\s>]", box)) for box in boxes] == [False] * 4, "scopes cannot be changed"
    assert "Claim and acknowledge conversions, as the Ads Script does" in page
    none = admin.post(address, {"name": "shop", "after": "none"})
    assert none.context["form"].errors["scopes"] == ["Choose at least one."]
    unknown = admin.post(address, {"name": "shop", "after": "none", "scopes": ["everything"]})
    assert "scopes" in unknown.context["form"].errors
    assert not site.keys().exists()

    issued = admin.post(address, {"name": "shop", "after": "none", "scopes": ["read", "enqueue"]})

    assert site.keys().get().scopes == ["enqueue", "read"]
    assert re.search(r"enqueue, read", issued.text)
    assert not issued.context["has_key"], "a script with this key could not claim"
    assert "PASTE-YOUR-KEY-HERE" in issued.context["script"]


def test_the_keys_page_lists_offers_and_changes_scopes(admin_client, admin_user) -> None:
    key, _ = ApiKey.objects.issue(admin_user, name="all")
    none = admin_client.post(f"{KEYS}add/", {"user": admin_user.pk, "name": "billing"})
    assert none.context["adminform"].form.errors["scopes"] == ["Choose at least one."]

    admin_client.post(f"{KEYS}add/", {"user": admin_user.pk, "name": "billing", "scopes": ["read"]})
    listed = admin_client.get(KEYS).text
    assert re.search(r"field-scopes_shown[^>]*>\s*all but admin\s*<", listed)
    assert re.search(r"field-scopes_shown[^>]*>\s*read\s*<", listed)

    admin_client.post(f"{KEYS}{key.pk}/change/", {"name": "narrow", "scopes": ["enqueue"]})
    key.refresh_from_db()
    assert (key.name, key.scopes) == ("narrow", ["enqueue"])
