"""A login by the provider: verified, for this browser and this login only."""

import logging

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import DeniedRequest
from tests.support.oidc_provider import new_key
from tests.support.second_factors import code_of, enter_code, is_logged_in, set_up_app

pytestmark = pytest.mark.django_db

START, CALLBACK = "/admin/login/oidc/", "/admin/login/oidc/callback/"


def test_a_person_logs_in_by_the_provider(provider, log_in) -> None:
    client = Client()
    assert "Log in with Example ID" in client.get("/admin/login/?next=/admin/preferences/").content.decode()

    answer = log_in(client, f"{START}?next=/admin/preferences/")

    assert answer["Location"] == "/admin/preferences/"
    assert is_logged_in(client)
    user = User.objects.get()
    assert (user.username, user.email, user.is_staff, user.is_superuser) == ("ayse", "ayse@example.com", True, False)
    assert not user.has_usable_password()
    assert set(user.groups.values_list("name", flat=True)) == {"operator"}


def test_the_same_person_is_the_same_user_next_time(provider, log_in) -> None:
    log_in()
    provider.person |= {"preferred_username": "ayse.yilmaz", "email": "new@example.com"}

    log_in()

    assert User.objects.count() == SocialAccount.objects.count() == 1


def test_without_an_issuer_there_are_no_pages_and_no_button(settings) -> None:
    assert settings.OIDC_ISSUER == ""
    assert Client().get(START).status_code == Client().get(CALLBACK).status_code == 404
    assert "oidc" not in Client().get("/admin/login/").content.decode()


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_a_login_by_the_provider_leads_to_no_other_site(provider, log_in, elsewhere) -> None:
    assert log_in(address=f"{START}?next={elsewhere}")["Location"] == "/admin/"


def test_an_answer_for_another_browser_is_refused(provider, come_back) -> None:
    """Otherwise a link could log someone in as the one who made it."""
    link = come_back(Client())
    victim = Client()

    answer = victim.get(link)

    assert answer.status_code == 400
    assert "This login was not started in this browser" in answer.content.decode()
    assert not is_logged_in(victim)
    assert not User.objects.exists()


def test_an_answer_works_once(provider, come_back) -> None:
    client = Client()
    link = come_back(client)
    client.get(link)
    client.logout()

    assert client.get(link).status_code == 400
    assert not is_logged_in(client)


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "of another login"},
        {"nonce": None},
        {"aud": "another client"},
        {"aud": ["kilit", "another"], "azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_login_is_refused(provider, log_in, changes, caplog) -> None:
    provider.token_changes = changes

    with caplog.at_level(logging.WARNING, logger="kilit.oidc"):
        answer = log_in(client := Client())

    assert answer.status_code == 403
    assert "could not be verified" in answer.content.decode()
    assert not is_logged_in(client)
    assert not User.objects.exists()
    assert DeniedRequest.objects.filter(code="FORBIDDEN").exists()


@pytest.mark.filterwarnings("ignore:The HMAC key is")
@pytest.mark.parametrize("algorithm", ["RS256", "HS256", "none"])
def test_a_token_without_a_signature_by_a_key_of_the_provider_is_refused(provider, log_in, algorithm) -> None:
    provider.algorithm, provider.signed_by = algorithm, new_key()

    assert log_in().status_code == 403
    assert not User.objects.exists()


def test_user_info_of_someone_else_is_refused(provider, log_in) -> None:
    del provider.person["groups"]
    provider.userinfo = {"sub": "person-2", "groups": ["bosses"]}

    assert log_in().status_code == 403
    assert not User.objects.exists()


def test_groups_may_be_in_the_user_info(provider, log_in) -> None:
    del provider.person["groups"]
    provider.userinfo = {"groups": ["readers"], "email": "another@example.com"}

    log_in()

    user = User.objects.get()
    assert [group.name for group in user.groups.all()] == ["viewer"]
    assert user.email == "ayse@example.com"  # the signed one comes first


def test_a_person_who_declines_at_the_provider_is_told_so(provider, come_back) -> None:
    client = Client()
    state = come_back(client).partition("state=")[2]

    answer = client.get(f"{CALLBACK}?error=access_denied&state={state}")

    assert answer.status_code == 403
    assert "Example ID did not log you in." in answer.content.decode()


@pytest.mark.parametrize(
    "described", [{"issuer": "https://evil.example"}, {"authorization_endpoint": None}, {"token_endpoint": 7}]
)
def test_a_provider_that_describes_itself_wrongly_is_not_used(provider, described) -> None:
    provider.described = described
    client = Client()

    answers = [client.get(START)]
    if answers[0].status_code == 302:
        state = answers[0]["Location"].partition("state=")[2].partition("&")[0]
        answers.append(client.get(f"{CALLBACK}?code=1&state={state}"))

    assert answers[-1].status_code == 502
    assert "Example ID does not answer as expected." in answers[-1].content.decode()


def test_visitors_do_not_have_the_provider_asked_each_time(provider) -> None:
    for _ in range(3):
        Client().get(START)

    assert provider.asked == ["/.well-known/openid-configuration"]


def test_a_second_factor_is_asked_for_after_the_provider(provider, log_in, settings) -> None:
    settings.SECOND_FACTOR = "allowed"
    log_in(client := Client())
    secret, _codes = set_up_app(client)
    other = Client()

    answer = log_in(other)

    assert answer["Location"] == "/admin/login/code/"
    assert not is_logged_in(other)
    enter_code(other, code_of(secret))
    assert is_logged_in(other)


def test_where_a_second_factor_is_required_the_provider_counts_as_one(provider, log_in, settings) -> None:
    settings.SECOND_FACTOR = "required"

    log_in(client := Client())

    assert is_logged_in(client)
