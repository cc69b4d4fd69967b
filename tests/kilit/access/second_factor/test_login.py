"""A login with a second factor: no session before the code, and no code is guessed or used twice."""

from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import F
from django.test import Client

from kilit.access.models import DeniedRequest, LoginWindow
from kilit.lock.models import Activity
from tests.support.second_factors import (
    CODE,
    LOGIN,
    PAGES,
    code_of,
    enter_code,
    enter_password,
    is_logged_in,
    with_app,
    wrong_code,
)

pytestmark = pytest.mark.django_db


def test_a_login_asks_for_a_code_after_the_password(client) -> None:
    _user, secret, _codes = with_app()

    asked = enter_password(client, next="/admin/second-factor/")
    page = client.get(CODE)
    entered = enter_code(client, code_of(secret))

    assert asked["Location"] == CODE
    assert "Enter the code that your authenticator app shows" in page.content.decode()
    assert entered["Location"] == PAGES
    assert is_logged_in(client)


def test_there_is_no_session_before_the_second_factor(client) -> None:
    with_app()

    enter_password(client)

    assert "_auth_user_id" not in client.session
    assert client.get("/admin/")["Location"].startswith(LOGIN)
    assert client.get("/admin/ociqueue/conversion/").status_code == 302
    assert client.get("/jobs").status_code == 401
    assert client.get(PAGES)["Location"].startswith(LOGIN)
    assert Activity.objects.filter(verb="login").count() == 1  # that of the set-up


def test_a_user_without_a_second_factor_logs_in_as_before(client) -> None:
    User.objects.create_user("ayse", password="a right long password", is_staff=True)

    assert enter_password(client, next="/admin/preferences/")["Location"] == "/admin/preferences/"
    assert is_logged_in(client)


def test_a_login_leads_to_no_other_site_after_the_code(client) -> None:
    _user, secret, _codes = with_app()

    enter_password(client, next="https://evil.example/")

    assert enter_code(client, code_of(secret))["Location"] == "/admin/"


def test_the_code_page_needs_a_password_first(client) -> None:
    _user, secret, _codes = with_app()

    assert client.get(CODE)["Location"] == LOGIN
    assert enter_code(client, code_of(secret))["Location"] == LOGIN
    assert not is_logged_in(client)


def test_a_wrong_code_is_refused_with_the_reason(client) -> None:
    _user, secret, _codes = with_app()
    enter_password(client)

    answer = enter_code(client, wrong_code(secret))

    assert answer.status_code == 200
    assert "This code is wrong, too old, or was used before." in answer.content.decode()
    assert not is_logged_in(client)


def test_a_code_works_once(client) -> None:
    """Even in another process, whose memory is its own, and when it is written another way."""
    _user, secret, _codes = with_app()
    code = code_of(secret)
    enter_password(client)
    enter_code(client, code)
    other = Client()
    enter_password(other)

    assert enter_code(other, code).status_code == 200
    assert enter_code(other, f"{code[:3]} {code[3:]}").status_code == 200
    assert not is_logged_in(other)
    assert enter_code(other, code_of(secret, periods=1)).status_code == 302


def test_a_recovery_code_works_once(client) -> None:
    _user, _secret, codes = with_app()
    enter_password(client)
    assert enter_code(client, codes[0]).status_code == 302
    other = Client()
    enter_password(other)

    assert enter_code(other, codes[0]).status_code == 200
    assert enter_code(other, codes[1].replace(" ", "")).status_code == 302
    assert "8 codes are left" in other.get(PAGES).content.decode()


def test_wrong_codes_lock_the_login_like_wrong_passwords(client) -> None:
    _user, secret, codes = with_app()
    enter_password(client)

    answers = [enter_code(client, wrong_code(secret)) for _ in range(configured.LOGIN_TRIES)]

    assert [answer.status_code for answer in answers] == [200] * (configured.LOGIN_TRIES - 1) + [429]
    assert "Try again in 15 minutes." in answers[-1].content.decode()
    assert enter_code(client, code_of(secret)).status_code == 429
    assert enter_code(client, codes[0]).status_code == 429
    assert enter_password(Client()).status_code == 429
    assert DeniedRequest.objects.filter(code="LOCKED_OUT").exists()
    assert wrong_code(secret) not in str(list(LoginWindow.objects.values_list()))


def test_an_admin_unlocks_a_login_that_wrong_codes_have_locked(admin_client, client) -> None:
    _user, secret, _codes = with_app()
    enter_password(client)
    for _ in range(configured.LOGIN_TRIES):
        enter_code(client, wrong_code(secret))
    chosen = LoginWindow.objects.exclude(username="").values_list("pk", flat=True)

    admin_client.post("/admin/access/loginwindow/", {"action": "release", "_selected_action": list(chosen)})

    assert enter_code(client, code_of(secret)).status_code == 302


def test_the_right_password_in_between_gives_no_more_tries(client) -> None:
    _user, secret, _codes = with_app()

    for _ in range(configured.LOGIN_TRIES):
        enter_password(client)
        answer = enter_code(client, wrong_code(secret))

    assert answer.status_code == 429


def test_codes_tried_from_many_addresses_are_limited_too(settings) -> None:
    _user, secret, _codes = with_app()
    settings.PROXIES = 1

    def tried(number: int, code: str) -> int:
        client, place = Client(), {"HTTP_X_FORWARDED_FOR": f"203.0.113.{number}"}
        client.post(LOGIN, {"username": "ayse", "password": "a right long password"}, **place)
        return enter_code(client, code, **place).status_code

    answers = [tried(number, wrong_code(secret)) for number in range(configured.LOGIN_TRIES)]

    assert answers == [200] * configured.LOGIN_TRIES
    assert tried(77, code_of(secret)) == 429
    LoginWindow.objects.update(last_at=F("last_at") - timedelta(minutes=16))
    assert tried(78, code_of(secret)) == 302


@pytest.mark.django_db(transaction=True)
def test_codes_tried_at_once_are_no_more_than_the_limit(monkeypatch, in_threads) -> None:
    """Each is counted before it is looked at: all of them may have found the login unlocked."""
    from kilit.access import second_factor

    _user, secret, _codes = with_app()
    clients = [Client() for _ in range(10)]
    for client in clients:
        enter_password(client)
    looked_at: list[str] = []
    monkeypatch.setattr(second_factor, "_matches", lambda _, code: looked_at.append(code))
    monkeypatch.setattr(second_factor, "seconds_to_wait", lambda *_: 0)

    in_threads(lambda number: enter_code(clients[number], wrong_code(secret)), count=len(clients))

    authenticators = Authenticator.objects.count()
    assert len(looked_at) == configured.LOGIN_TRIES * authenticators


def test_a_login_that_is_not_completed_ends(client, settings) -> None:
    settings.ACCOUNT_LOGIN_TIMEOUT = 0
    _user, secret, _codes = with_app()
    enter_password(client)

    assert enter_code(client, code_of(secret))["Location"] == LOGIN
    assert not is_logged_in(client)


def test_a_user_who_was_deactivated_meanwhile_is_not_logged_in(client) -> None:
    user, secret, _codes = with_app()
    enter_password(client)
    User.objects.filter(pk=user.pk).update(is_active=False)

    enter_code(client, code_of(secret))

    assert not is_logged_in(client)


def test_a_new_session_begins_with_the_code(client) -> None:
    _user, secret, _codes = with_app()
    enter_password(client)
    before = client.session.session_key

    enter_code(client, code_of(secret))

    assert client.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()
