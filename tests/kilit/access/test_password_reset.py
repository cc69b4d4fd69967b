"""A forgotten password is reset by its owner, with a link that comes by e-mail."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client

from config.settings.logs import ContextFilter, JsonFormatter
from kilit.access.models import ApiKey, LoginWindow
from kilit.lock.models import Activity
from ociqueue.models import Site
from tests.support.password_resets import ASK, CHOSEN, LOGIN, NEW, OLD, ask, choose, enters, link_in, opened

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mail_set_up")]


def test_the_owner_of_an_account_gets_a_link_and_chooses_a_new_password(ayse) -> None:
    assert ASK in Client().get(LOGIN).content.decode()

    answer = ask("Ayse@Example.com")
    changed = choose(link_in(mail.outbox[0].body))

    assert answer["Location"] == f"{ASK}done/"
    assert changed["Location"] == f"{ASK}complete/"
    assert "You can log in with your new password" in Client().get(changed["Location"]).content.decode()
    assert (enters(NEW), enters(OLD)) == (True, False)


def test_the_mail_is_plain_text_with_the_name_and_how_long_the_link_works(ayse) -> None:
    ask()

    (sent,) = mail.outbox
    assert sent.to == ["ayse@example.com"]
    assert sent.subject == "Kilit: choose a new password"
    assert sent.extra_headers == {"Auto-Submitted": "auto-generated"}
    assert not getattr(sent, "alternatives", [])
    assert "Your username: ayse\n" in sent.body
    assert "for 1\xa0hour." in sent.body
    assert configured.PASSWORD_RESET_TIMEOUT == 3600


def test_the_mail_is_in_the_language_of_the_page(ayse) -> None:
    ask(HTTP_ACCEPT_LANGUAGE="tr")

    assert mail.outbox[0].subject == "Kilit: yeni parola belirleyin"
    assert "Kullanıcı adınız: ayse" in mail.outbox[0].body
    assert "Şifrenizi" not in mail.outbox[0].body


def test_the_link_has_our_own_address_whatever_host_a_request_names(ayse, settings) -> None:
    settings.ALLOWED_HOSTS = ["kilit.example.com", "10.0.0.5"]

    ask(HTTP_HOST="10.0.0.5", HTTP_X_FORWARDED_HOST="evil.example")
    assert ask(HTTP_HOST="evil.example").status_code == 400

    assert len(mail.outbox) == 1
    assert "10.0.0.5" not in mail.outbox[0].body
    assert "evil" not in mail.outbox[0].body
    assert link_in(mail.outbox[0].body)


def of_a_service() -> User:
    user = User.objects.create_user("robot", "robot@example.com", is_staff=True)
    ApiKey.objects.issue(user, name="test")
    return user


def of_a_sites_key() -> User:
    user = Site.objects.create(name="A").service_user()
    User.objects.filter(pk=user.pk).update(email="key@example.com", is_staff=True)
    return user


def without_the_console() -> User:
    return User.objects.create_user("guest", "guest@example.com", OLD)


def inactive() -> User:
    return User.objects.create_user("gone", "gone@example.com", OLD, is_staff=True, is_active=False)


def unknown() -> User:
    return User(email="nobody@example.com")


@pytest.mark.parametrize("make", [of_a_service, of_a_sites_key, without_the_console, inactive, unknown])
def test_others_get_the_same_answer_and_no_mail(ayse, make: Callable[[], User]) -> None:
    user = make()
    user.pk and user.refresh_from_db()

    real, other = ask(), ask(user.email)

    assert (other.status_code, other["Location"]) == (real.status_code, real["Location"])
    assert [sent.to for sent in mail.outbox] == [["ayse@example.com"]]


def test_an_address_that_only_looks_the_same_gets_no_mail(ayse) -> None:
    User.objects.create_user("mike", "mike@example.org", OLD, is_staff=True)

    ask("mıke@example.org")  # a Turkish letter, which some databases compare as equal

    assert mail.outbox == []


def test_each_account_of_an_address_gets_its_own_link(ayse) -> None:
    User.objects.create_user("ayse-2", "ayse@example.com", OLD, is_staff=True)

    ask()
    for sent in mail.outbox:
        if "username: ayse-2\n" in sent.body:
            choose(link_in(sent.body))

    assert len(mail.outbox) == 2
    assert (enters(NEW, "ayse-2"), enters(OLD, "ayse")) == (True, True)


def test_a_link_works_once(ayse) -> None:
    ask()
    link = link_in(mail.outbox[0].body)
    choose(link)

    _, _, again = opened(link)

    assert "This link was used before, is too old, or is not complete." in again.content.decode()
    assert "new_password1" not in again.content.decode()
    assert choose(link, new_password1="another-password-2", new_password2="another-password-2").status_code == 200
    assert enters(NEW)


def test_a_link_ends_after_an_hour(ayse, monkeypatch) -> None:
    ask()
    link = link_in(mail.outbox[0].body)
    generator = "django.contrib.auth.tokens.PasswordResetTokenGenerator._now"
    issued = default_token_generator._now()
    monkeypatch.setattr(generator, lambda _: issued + timedelta(seconds=3595))
    assert "new_password1" in opened(link)[2].content.decode()
    monkeypatch.setattr(generator, lambda _: issued + timedelta(seconds=3605))
    assert "new_password1" not in opened(link)[2].content.decode()


@pytest.mark.parametrize(
    "change", [{"is_active": False}, {"is_staff": False}, {"password": "!"}, {"email": "new@example.com"}]
)
def test_a_link_dies_when_the_account_changes(ayse, change: dict[str, Any]) -> None:
    ask()
    link = link_in(mail.outbox[0].body)
    User.objects.filter(pk=ayse.pk).update(**change)

    _, _, page = opened(link)

    assert "new_password1" not in page.content.decode()


def test_a_link_of_one_account_does_not_open_another(ayse) -> None:
    root = User.objects.create_superuser("root", "root@example.com", OLD)
    ask()
    ask("root@example.com")
    of_ayse, of_root = (link_in(sent.body).split("/") for sent in mail.outbox)

    _, _, page = opened("/".join([*of_root[:3], of_root[3], of_ayse[4], ""]))

    assert "new_password1" not in page.content.decode()
    assert User.objects.get(pk=root.pk).check_password(OLD)


@pytest.mark.parametrize("password", ["short", "123456789012345", "ayse@example.com", "password1234"])
def test_a_weak_password_is_refused_with_a_reason(ayse, password: str) -> None:
    ask()

    answer = choose(link_in(mail.outbox[0].body), new_password1=password, new_password2=password)

    assert answer.status_code == 200
    assert "password" in answer.context["form"].errors["new_password2"][0]
    assert enters(OLD)


def test_a_reset_ends_other_sessions_and_the_lockout_and_is_recorded(ayse, client) -> None:
    client.force_login(ayse)
    for _ in range(configured.LOGIN_TRIES):
        Client().post(LOGIN, {"username": "ayse", "password": "a wrong long password"})
    assert LoginWindow.objects.filter(username="ayse").exists()
    ask()

    choose(link_in(mail.outbox[0].body))

    assert client.get("/admin/")["Location"].startswith(LOGIN)
    assert enters(NEW)
    recorded = Activity.objects.filter(kind="login").order_by("pk").values_list("verb", "person")
    assert list(recorded) == [("login", "ayse"), ("password_reset", "ayse"), ("login", "ayse")]
    admin_client = Client()
    admin_client.force_login(User.objects.create_superuser("root"))
    assert "Password reset by e-mail" in admin_client.get("/admin/lock/activity/").content.decode()


def test_nobody_is_logged_in_by_a_link(ayse) -> None:
    ask()
    client, path, _ = opened(link_in(mail.outbox[0].body))

    client.post(path, CHOSEN)

    assert client.get("/admin/")["Location"].startswith(LOGIN)


def test_the_link_never_reaches_the_log(ayse, caplog) -> None:
    with caplog.at_level(logging.INFO):
        ask()
        link = link_in(mail.outbox[0].body)
        choose(link)

    for record in caplog.records:
        ContextFilter().filter(record)
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    paths = [line["path"] for line in lines if line["logger"] == "kilit.request"]
    assert paths == [ASK, *[f"{ASK}***"] * 3]
    assert link.split("/")[-2] not in str(lines)


@pytest.mark.parametrize("email", ["", "ayse", "ayse@example.com\r\nBcc: x@example.com", "a" * 300 + "@example.com"])
def test_what_is_no_address_is_refused_with_a_reason(ayse, email: str) -> None:
    answer = ask(email)

    assert answer.status_code == 200
    assert answer.context["form"].errors["email"]
    assert mail.outbox == []


@pytest.mark.parametrize("path", ["", "done/", "complete/", "MQ/set-password/", "MQ/abc-123/"])
def test_without_a_mail_server_there_are_no_pages_and_no_link(ayse, settings, path: str) -> None:
    settings.EMAIL_HOST = ""

    assert Client().get(ASK + path).status_code == 404
    assert Client().post(ASK + path, {"email": "ayse@example.com", **CHOSEN}).status_code == 404
    assert ASK not in Client().get(LOGIN).content.decode()
    assert mail.outbox == []


@pytest.mark.parametrize("path", ["MQ/abc-123/", "!!/x/", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5/x/", "MQ/set-password/"])
def test_a_link_that_is_none_says_so(ayse, path: str) -> None:
    answer = Client().get(ASK + path)

    assert answer.status_code == 200
    assert "Request a new link" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "same-origin"
