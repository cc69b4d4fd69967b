"""Mails with a link to a new password: how many are sent, and what a slow mail server does to those who wait."""

import socket
from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.core import mail
from django.db.models import F

from kilit.access import password_reset
from kilit.access.models import LoginWindow
from tests.support.alerts import MailServer
from tests.support.password_resets import NEW, ask, choose, enters, link_in
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mail_set_up")]


def test_requests_for_one_address_are_limited_whether_it_is_known_or_not(ayse) -> None:
    limit = configured.LOGIN_TRIES

    known = [ask(REMOTE_ADDR=f"10.0.0.{n}") for n in range(limit + 1)]
    unknown = [ask("nobody@example.com", REMOTE_ADDR=f"10.0.1.{n}") for n in range(limit + 1)]

    assert [answer.status_code for answer in known] == [302] * limit + [429]
    assert [answer.status_code for answer in unknown] == [302] * limit + [429]
    assert len(mail.outbox) == limit
    assert "Try again in 15 minutes." in known[-1].content.decode()
    assert 0 < int(known[-1]["Retry-After"]) <= 901


def test_requests_from_one_network_are_limited(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 3

    answers = [ask(f"user{n}@example.com", REMOTE_ADDR=f"2001:db8::{n}").status_code for n in range(5)]

    assert answers == [302] * 3 + [429] * 2
    assert ask(REMOTE_ADDR="2001:db8:0:1::1").status_code == 302


def test_the_limit_ends_and_refused_requests_do_not_extend_it(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 2
    assert [ask().status_code for _ in range(4)] == [302, 302, 429, 429]

    LoginWindow.objects.update(last_at=F("last_at") - settings.LOCKOUT_TIME - timedelta(seconds=1))

    assert ask().status_code == 302


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_no_more_than_the_limit_are_taken(in_threads) -> None:
    answers = in_threads(lambda _: ask("nobody@example.com").status_code, count=12)

    assert sorted(answers) == [302] * configured.LOGIN_TRIES + [429] * (12 - configured.LOGIN_TRIES)


def test_neither_addresses_nor_names_are_in_the_counts(ayse) -> None:
    ask(REMOTE_ADDR="10.0.0.9")

    stored = " ".join(LoginWindow.objects.values_list("name", flat=True))
    assert sorted(name.partition(":")[0] for name in stored.split()) == ["reset-for", "reset-from"]
    assert "ayse" not in stored
    assert "10.0" not in stored


@pytest.fixture
def in_background(settings, mail_set_up, monkeypatch) -> None:
    """Send as the product does."""
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1"
    monkeypatch.setattr("kilit.console.account.password_pages.send_links", password_reset.send_links)


@pytest.mark.django_db(transaction=True)
def test_a_mail_server_gets_the_mail(settings, ayse, in_background) -> None:
    server = MailServer()
    settings.EMAIL_PORT = server.port

    ask(HTTP_ACCEPT_LANGUAGE="tr")

    (sent,) = wait_until(lambda: server.mails)
    server.stop()
    assert sent["To"] == "ayse@example.com"
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent.get_content_type() == "text/plain"
    assert "Kullanıcı adınız: ayse" in sent.get_content()
    choose(link_in(sent.get_content()))
    assert enters(NEW)


@pytest.mark.django_db(transaction=True)
def test_a_mail_server_that_hangs_holds_no_request_and_few_threads(settings, ayse, in_background) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = settings.LOGIN_TRIES = 100
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never says a word
        settings.EMAIL_PORT = silent.getsockname()[1]

        answers = [ask() for _ in range(6)]

        assert [answer.status_code for answer in answers] == [302] * 4 + [503] * 2
        assert "The mail server does not respond" in answers[-1].content.decode()
    # Closed: the threads that waited end, and leave their places to others.
    wait_until(lambda: ask("nobody@example.com").status_code == 302)
    wait_until(lambda: password_reset.SENDERS._value == 4)


@pytest.mark.django_db(transaction=True)
def test_a_mail_server_that_is_away_is_logged_and_changes_no_answer(settings, ayse, in_background, caplog) -> None:
    settings.EMAIL_PORT = 9

    assert ask().status_code == 302

    wait_until(lambda: password_reset.SENDERS._value == 4 and "could not be sent" in caplog.text)
    assert "ayse" not in caplog.text
