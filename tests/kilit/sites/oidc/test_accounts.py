"""Who a person of the provider is here: roles by group at each login, and no account of another one."""

from threading import Barrier

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from kilit.sites.models import SiteMembership
from kilit.sites.oidc import accounts
from kilit.sites.oidc.grants import Grant, read_grants
from ociqueue.models import Site
from tests.support.second_factors import PASSWORD, is_logged_in

pytestmark = pytest.mark.django_db


def roles(username: str = "ayse") -> set[str]:
    return set(User.objects.get(username=username).groups.values_list("name", flat=True))


def memberships(username: str = "ayse") -> dict[str, str]:
    return dict(SiteMembership.objects.filter(user__username=username).values_list("site__name", "role"))


# Roles


@pytest.mark.parametrize("groups", [[], ["others"], None, "others", 7, {"ops": True}, [["ops"]], ["OPS"]])
def test_a_person_in_no_group_of_ours_is_refused(provider, log_in, groups) -> None:
    provider.person["groups"] = groups

    answer = log_in(client := Client())

    assert answer.status_code == 403
    assert "is in no group that may use this console" in answer.content.decode()
    assert not is_logged_in(client)
    assert not User.objects.exists()


def test_roles_follow_the_groups_at_each_login(provider, log_in) -> None:
    provider.person["groups"] = ["readers", "bosses"]
    log_in()
    assert roles() == {"admin"}

    provider.person["groups"] = "readers"
    log_in()

    assert roles() == {"viewer"}
    assert LogEntry.objects.filter(change_message="Set roles by groups at the login provider").count() == 2


def test_a_person_who_leaves_all_groups_does_not_log_in_again(provider, log_in) -> None:
    log_in()
    provider.person["groups"] = []

    assert log_in(client := Client()).status_code == 403
    assert not is_logged_in(client)


def test_another_claim_may_have_the_groups(provider, log_in, settings) -> None:
    settings.OIDC_GROUP_CLAIM = "https://example.com/roles"
    provider.person |= {"https://example.com/roles": ["bosses"]}

    log_in()

    assert roles() == {"admin"}


def test_groups_that_are_no_roles_stay(provider, log_in) -> None:
    log_in()
    User.objects.get().groups.add(Group.objects.create(name="night shift"))

    log_in()

    assert roles() == {"operator", "night shift"}


def test_a_group_may_give_the_role_owner_and_takes_it_again(provider, log_in, settings) -> None:
    settings.OIDC_GRANTS = read_grants("ops=owner; readers=viewer")

    log_in()
    assert roles() == {"owner"}
    provider.person["groups"] = ["readers"]
    log_in()

    assert roles() == {"viewer"}


def test_memberships_of_the_sites_that_are_named_follow_the_groups(provider, log_in, settings) -> None:
    a, b, c = (Site.objects.create(name=name) for name in "ABC")
    settings.OIDC_GRANTS = read_grants(
        f"ops=operator@{a.public_id}; ops=viewer@{b.public_id}; bosses=admin@{b.public_id}; readers=viewer"
    )
    log_in()
    assert memberships() == {"A": "operator", "B": "viewer"}
    SiteMembership.objects.create(site=c, user=User.objects.get(), role="viewer")  # by hand

    provider.person["groups"] = ["bosses"]
    log_in()

    assert memberships() == {"B": "admin", "C": "viewer"}
    assert roles() == {"admin"}


# Accounts


@pytest.fixture
def ayse() -> User:
    return User.objects.create_user("ayse", "ayse@example.com", PASSWORD, is_staff=True)


@pytest.fixture
def _joined_by_email(provider, settings) -> None:
    settings.OIDC_JOIN_BY_EMAIL = True
    provider.person["email_verified"] = True


def test_a_person_is_not_joined_to_a_user_by_name_or_address(provider, log_in, ayse) -> None:
    provider.person["email_verified"] = True

    log_in()

    made = SocialAccount.objects.get().user
    assert made.pk != ayse.pk
    assert made.username == "ayse-2"
    assert roles("ayse") == set()


@pytest.mark.usefixtures("_joined_by_email")
def test_where_it_is_switched_on_a_person_is_joined_by_a_verified_address(provider, log_in, ayse) -> None:
    provider.person["email"] = "Ayse@Example.com"

    log_in()

    assert SocialAccount.objects.get().user == ayse
    assert User.objects.count() == 1
    assert roles() == {"operator"}


@pytest.mark.usefixtures("_joined_by_email")
@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_the_provider_has_not_verified_joins_no_one(provider, log_in, ayse, verified) -> None:
    provider.person["email_verified"] = verified

    log_in()

    assert SocialAccount.objects.get().user != ayse


@pytest.mark.usefixtures("_joined_by_email")
@pytest.mark.parametrize(
    ("role", "change"),
    [("owner", {}), ("", {"is_superuser": True}), ("", {"is_staff": False}), ("", {"password": "!"})],
    ids=str,
)
def test_an_owner_a_superuser_or_a_service_is_never_joined(log_in, ayse, role, change) -> None:
    ayse.groups.set(Group.objects.filter(name=role))
    User.objects.filter(pk=ayse.pk).update(**change)

    log_in()

    assert SocialAccount.objects.get().user != ayse


@pytest.mark.usefixtures("_joined_by_email")
def test_two_users_with_the_address_are_not_guessed_between(log_in, ayse) -> None:
    twin = User.objects.create_user("twin", "ayse@example.com", PASSWORD, is_staff=True)

    log_in()

    assert SocialAccount.objects.get().user not in (ayse, twin)


@pytest.mark.usefixtures("_joined_by_email")
def test_a_second_person_with_the_address_is_someone_else(provider, log_in, ayse) -> None:
    log_in()
    provider.person["sub"] = "person-2"

    log_in()

    assert SocialAccount.objects.get(uid="person-2").user != ayse


def test_the_same_subject_at_another_issuer_is_someone_else(provider, log_in) -> None:
    log_in()
    SocialAccount.objects.update(provider="https://before.example")

    log_in()

    assert User.objects.count() == 2


def test_a_deactivated_user_is_refused(provider, log_in) -> None:
    log_in()
    User.objects.update(is_active=False)

    answer = log_in(client := Client())

    assert answer.status_code == 403
    assert "is deactivated" in answer.content.decode()
    assert not is_logged_in(client)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "a b<c>"}, "a-b-c-"),
        ({"preferred_username": None}, "ayse@example.com"),
        ({"preferred_username": None, "email": None}, "person-1"),
        ({"preferred_username": "x" * 500, "given_name": "y" * 500, "email": ["no"]}, "x" * 140),
        ({"given_name": "a\0b"}, "ayse"),
    ],
)
def test_odd_claims_make_a_user_too(provider, log_in, claims, name) -> None:
    provider.person |= claims

    assert log_in().status_code == 302
    assert User.objects.get().username == name


@pytest.mark.parametrize("subject", ["x" * 192, "a\0b"])
def test_a_subject_that_cannot_be_stored_is_refused(provider, log_in, subject) -> None:
    provider.person["sub"] = subject

    assert log_in().status_code == 403
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_first_logins_at_once_make_one_user(provider, come_back, monkeypatch, in_threads) -> None:
    clients = [Client(), Client()]
    links = [come_back(client) for client in clients]
    together, make = Barrier(2), accounts._new_user
    waited = set()

    def make_together(claims):
        if len(waited) < 2:
            waited.add(object())
            together.wait(timeout=60)
        return make(claims)

    monkeypatch.setattr(accounts, "_new_user", make_together)

    answers = in_threads(lambda number: clients[number].get(links[number]).status_code, count=2)

    assert answers == [302, 302]
    assert User.objects.count() == SocialAccount.objects.count() == 1


# The setting


def test_groups_are_read_with_roles_and_sites() -> None:
    assert read_grants("a=viewer; cn=ops,dc=x = operator@f00 ;") == [
        Grant("a", "viewer", ""),
        Grant("cn=ops,dc=x", "operator", "f00"),
    ]


@pytest.mark.parametrize("text", ["a", "=admin", "a=superuser", "a=admin@", "a=@x", "a=ADMIN", "a=owner@f00"])
def test_what_cannot_be_read_stops_the_process_with_the_form(text) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"KILIT_OIDC_GROUPS: .* Use group=role"):
        read_grants(text)
