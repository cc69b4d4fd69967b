"""A login on its way is a cookie of the browser that started it, and no row of ours; an answer works once."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from kilit.access.models import LoginWindow
from kilit.sites.oidc import pending
from kilit.sites.oidc.pending import LIFE, LONGEST_NEXT, MOST_COOKIES, PREFIX
from tests.support.oidc_provider import way_back
from tests.support.second_factors import is_logged_in

pytestmark = pytest.mark.django_db

START, CALLBACK = "/admin/login/oidc/", "/admin/login/oidc/callback/"


def state_of(link: str) -> str:
    return link.partition("state=")[2].partition("&")[0]


def test_a_login_that_is_only_started_stores_nothing(provider, come_back) -> None:
    for _ in range(3):
        client = Client()
        link = come_back(client)
        client.get(f"{CALLBACK}?code=guessed&state={state_of(link)}")
        client.get(f"{CALLBACK}?error=access_denied&state={state_of(link)}")

    assert Session.objects.count() == LoginWindow.objects.count() == 0


def test_its_cookie_is_for_these_pages_only_and_out_of_reach_of_scripts_and_other_sites(provider, settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    client = Client()
    client.get(START)

    ((name, cookie),) = client.cookies.items()

    assert name.startswith(PREFIX)
    attributes = {key: cookie[key] for key in ("path", "httponly", "secure", "samesite", "max-age")}
    expected = {"path": START, "httponly": True, "secure": True, "samesite": "Lax", "max-age": LIFE.total_seconds()}
    assert attributes == expected


def test_a_copy_of_the_cookie_does_not_log_in_again(provider) -> None:
    """Neither with the same code, nor with another one that the provider gives for it."""
    client = Client()
    away = client.get(START)["Location"]
    copy = {name: cookie.value for name, cookie in client.cookies.items()}
    first, second = (way_back(away) for _ in range(2))
    client.get(first)
    assert is_logged_in(client)
    thieves = [Client(), Client()]
    for thief in thieves:
        thief.cookies.load(copy)

    answers = [thief.get(link) for thief, link in zip(thieves, (first, second), strict=True)]

    assert [answer.status_code for answer in answers] == [502, 400]
    assert not any(is_logged_in(thief) for thief in thieves)


def test_the_cookie_is_deleted_with_the_answer(provider, come_back) -> None:
    client = Client()
    link = come_back(client)

    client.get(link)

    assert client.cookies[f"{PREFIX}{state_of(link)}"].value == ""


@pytest.mark.parametrize("change", ["value", "name"])
def test_a_changed_cookie_is_refused(provider, come_back, change) -> None:
    client = Client()
    link, other = come_back(client), come_back(client)
    own, another = f"{PREFIX}{state_of(link)}", f"{PREFIX}{state_of(other)}"
    value = client.cookies[another].value if change == "name" else f"e30{client.cookies[own].value[3:]}"
    client.cookies[own] = value

    assert client.get(link).status_code == 400
    assert not User.objects.exists()


def test_an_answer_that_comes_too_late_is_refused(provider, come_back, monkeypatch) -> None:
    client = Client()
    link = come_back(client)
    monkeypatch.setattr(pending, "LIFE", timedelta(seconds=-1))

    assert client.get(link).status_code == 400


def test_logins_in_two_tabs_both_lead_back(provider, come_back) -> None:
    client = Client()
    first = come_back(client, f"{START}?next=/admin/preferences/")
    second = come_back(client)

    assert [client.get(second)["Location"], client.get(first)["Location"]] == ["/admin/", "/admin/preferences/"]


def test_a_browser_keeps_few_cookies_of_logins_that_were_given_up(provider) -> None:
    client = Client()

    for _ in range(3 * MOST_COOKIES):
        client.get(START)

    kept = [name for name, cookie in client.cookies.items() if cookie.value]
    assert 0 < len(kept) <= MOST_COOKIES


def test_an_address_that_is_too_long_for_the_cookie_is_not_kept(provider, log_in) -> None:
    long, too_long = (f"/admin/?q={'a' * (LONGEST_NEXT - 10)}", f"/admin/?q={'ğ' * (LONGEST_NEXT // 6)}")

    answers = [log_in(address=f"{START}?next={text}") for text in (long, too_long)]

    assert [answer["Location"] for answer in answers] == [long, "/admin/"]
