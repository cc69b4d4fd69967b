"""Alerts reach people: by a real mail server and a real HTTP receiver; failures are retried, and leak nothing."""

import logging
from datetime import timedelta

import pytest
from django.conf import settings as product_settings
from django.db.models.functions import Now

from kilit.problems.tracking import track_problems
from kilit.sentences import english
from kilit.workers.doorbells import doorbells
from outbox.alerts import making, sending
from outbox.models import Attempt, Channel, OutboxMessage
from outbox.models.channel import ChannelKind
from tests.support.alerts import JsonReceiver, held, make_channel, time_passes
from tests.support.outbox import make_old

pytestmark = pytest.mark.django_db


def send(message: OutboxMessage) -> OutboxMessage:
    sending.send_alerts()
    message.refresh_from_db()
    return message


def test_the_life_of_an_alert(problems, mail_server, receiver, settings) -> None:
    """It opens, grows, closes and opens again, in two languages, by e-mail and by HTTP."""
    settings.PUBLIC_URL = "https://kilit.example.com"
    make_channel("ops@example.com", language="tr")
    make_channel(receiver.address, kind=ChannelKind.APPRISE)
    for count in (1, 1, 10, 12, 0, 0, 3):
        problems[:] = [held(count, link="/admin/orchestrator/job/")] if count else []
        track_problems()
        sending.send_alerts()
        time_passes(timedelta(minutes=6))

    titles = [received["title"] for received in receiver.received]
    assert titles == [
        "[Kilit] Warning: 1 jobs need approval",
        "[Kilit] Grown: 10 jobs need approval",
        "[Kilit] Over after 18 minutes: 12 jobs need approval",
        "[Kilit] Warning: 3 jobs need approval",
    ]
    assert [received["type"] for received in receiver.received] == ["warning", "warning", "success", "warning"]
    assert len(mail_server.mails) == 4
    mail = mail_server.mails[0]
    assert (mail["To"], mail["From"]) == ("ops@example.com", settings.DEFAULT_FROM_EMAIL)
    assert mail["Subject"].endswith(": 1 jobs need approval")
    text, html = (part.get_content() for part in mail.iter_parts())
    assert "https://kilit.example.com/admin/orchestrator/job/" in text
    assert 'href="https://kilit.example.com/admin/orchestrator/job/"' in html
    assert len({mail["Message-ID"] for mail in mail_server.mails}) == 4
    assert set(OutboxMessage.objects.values_list("status", flat=True)) == {"DELIVERED"}
    assert Channel.objects.filter(sent_at__isnull=False, error="").count() == 2


def test_a_test_is_sent_at_once_also_in_quiet_hours(mail_server, monkeypatch) -> None:
    monkeypatch.setattr(Channel, "is_quiet", lambda _self, _now: True)

    message = send(making.send_test(make_channel()))

    assert message.status == "DELIVERED"
    assert mail_server.mails[0]["Subject"] == "[Kilit] Test of the channel Operations"


def test_a_rejected_mail_is_tried_again_in_its_time_and_the_channel_says_how_it_went(mail_server) -> None:
    channel = make_channel()
    mail_server.refusal = "451 Try again later"

    message = send(making.send_test(channel))

    assert (message.status, message.error_code, message.response_code) == ("RETRY", "REJECTED", 451)
    channel.refresh_from_db()
    assert english(channel.error) == "The channel's server rejected the message."
    assert not doorbells[sending.BELL].is_due()
    assert sending.send_alerts() == 0

    mail_server.refusal = ""
    OutboxMessage.objects.update(next_try_at=Now())
    assert doorbells[sending.BELL].is_due()
    assert send(message).status == "DELIVERED"
    channel.refresh_from_db()
    assert (channel.error, channel.sent_at is not None) == ("", True)
    assert Attempt.objects.filter(message_id=message.pk).count() == 2


@pytest.mark.parametrize(
    ("address", "kind", "error"),
    [
        ("json://127.0.0.1:9/secret-token", ChannelKind.APPRISE, "UNREACHABLE"),
        ("nothing://secret-token", ChannelKind.APPRISE, "ADDRESS_INVALID"),
        ("ops@example.com", ChannelKind.EMAIL, "UNREACHABLE"),
    ],
)
def test_what_cannot_be_reached_is_explained(settings, address: str, kind: str, error: str) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9

    message = send(making.send_test(make_channel(address, kind=kind)))

    assert (message.status, message.error_code) == ("RETRY", error)


def test_an_address_that_cannot_be_decrypted_is_explained(mail_server) -> None:
    message = making.send_test(make_channel())
    Channel.objects.update(encrypted_address="gAAAAA")

    assert send(message).error_code == "ADDRESS_UNREADABLE"


def test_a_channel_that_hangs_ends_in_time(receiver, monkeypatch) -> None:
    receiver.answers.clear()
    monkeypatch.setattr(sending, "TIMEOUT", 0.2)

    message = send(making.send_test(make_channel(receiver.address, kind=ChannelKind.APPRISE)))

    assert (message.status, message.error_code) == ("RETRY", "TIMEOUT")


def test_nothing_is_sent_through_a_channel_that_is_off(mail_server) -> None:
    channel = make_channel()
    making.send_test(channel)
    Channel.objects.update(is_on=False)
    assert not doorbells[sending.BELL].is_due()
    assert sending.send_alerts() == 0

    old = make_old(endpoint=None, channel=channel)
    assert OutboxMessage.objects.expire() == 1
    assert OutboxMessage.objects.get(status="FAILED") == old


def test_tokens_are_neither_logged_nor_stored(receiver, caplog, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.status = 403
    making.send_test(make_channel(receiver.address, kind=ChannelKind.APPRISE))

    sending.send_alerts()

    stored = [*OutboxMessage.objects.values(), *Attempt.objects.values(), *Channel.objects.values()]
    assert "REJECTED" in str(stored)
    seen = [caplog.text, *capfd.readouterr(), str(stored)]
    assert not any("secret-token" in text for text in seen)


def test_loggers_that_may_hold_tokens_are_kept_from_the_log() -> None:
    loggers = product_settings.LOGGING["loggers"]

    assert loggers["apprise"] == {"handlers": ["nowhere"], "propagate": False}
    assert loggers["urllib3.connectionpool"]["level"] == "INFO"


def test_an_alert_follows_no_redirect(receiver) -> None:
    inside = JsonReceiver()
    receiver.status, receiver.location = 307, f"http://127.0.0.1:{inside.server_port}/"

    message = send(making.send_test(make_channel(receiver.address, kind=ChannelKind.APPRISE)))
    inside.stop()

    assert (message.error_code, message.response_code) == ("REJECTED", 307)
    assert (len(receiver.received), inside.received) == (1, [])
