"""Channels in the console: who manages which, what is shown, and a test."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from outbox.alerts.making import send_test
from outbox.alerts.sending import send_alerts
from outbox.models import AlertRule, Channel, OutboxMessage
from tests.support.alerts import make_channel
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db

LIST, ADD = "/admin/outbox/channel/", "/admin/outbox/channel/add/"


@pytest.fixture(autouse=True)
def _mail(settings) -> None:
    settings.EMAIL_HOST = "mail.example"


def person(role: str, name: str = "ayse", **columns: Any) -> tuple[User, Client]:
    user = make_user(name, role=role, **columns)
    return user, browser_of(user)


def form(*rules: dict, **values: Any) -> dict:
    filled = {
        "name": "Phone",
        "kind": "apprise",
        "address": "ntfy://our-topic",
        "language": "tr",
        "time_zone": "Europe/Istanbul",
        "quiet_from": "22:00",
        "quiet_to": "08:00",
        "is_on": "on",
        "rules-TOTAL_FORMS": len(rules),
        "rules-INITIAL_FORMS": 0,
        **values,
    }
    for number, rule in enumerate(rules):
        given = {"part": "", "scope": "", "min_count": 1, "min_severity": 2, **rule}
        filled |= {f"rules-{number}-{name}": value for name, value in given.items()}
    return filled


def errors(answer: Any) -> str:
    assert answer.status_code == 200, "it was saved"
    shown = answer.context["adminform"].form.errors
    return str([*shown.values(), *answer.context["errors"]])


def test_an_operator_adds_a_channel_of_their_own_with_rules() -> None:
    ayse, client = person("operator")

    answer = client.post(ADD, form({"part": "cutting_job", "kinds": ["hold", "stuck"], "min_count": 10}))

    channel = Channel.objects.get()
    assert answer.status_code == 302
    assert (channel.owner, channel.address, channel.language) == (ayse, "ntfy://our-topic", "tr")
    rule = AlertRule.objects.get(channel=channel)
    assert (rule.part, rule.kinds, rule.min_count, rule.min_severity) == ("cutting_job", ["hold", "stuck"], 10, 2)


def test_an_address_is_kept_unless_another_is_entered_and_is_never_shown() -> None:
    ayse, client = person("operator")
    channel = make_channel("tgram://123456789:AAEabcdefghijklmnopqrstuvwxyz12345678/12345", kind="apprise", owner=ayse)
    page = reverse("admin:outbox_channel_change", args=[channel.pk])
    shown = client.get(page).content.decode() + client.get(LIST).content.decode()
    assert "tgram://…" in shown
    assert "AAEabc" not in shown
    assert "nothing sent yet" in client.get(page).content.decode()
    Channel.objects.update(error="The channel did not answer in time.")
    assert "The channel did not answer in time." in client.get(page).content.decode()

    assert client.post(page, form(name="Renamed", address="")).status_code == 302
    channel.refresh_from_db()
    assert (channel.name, channel.address[:8]) == ("Renamed", "tgram://")

    assert "Enter the address" in errors(client.post(page, form(kind="email", address="")))


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"address": ""}, "Enter the address"),
        ({"address": "json://10.0.0.1/"}, "Only owners"),
        ({"address": "file:///etc/passwd"}, "apprise"),
        ({"kind": "email", "address": "nobody"}, "valid email"),
        ({"quiet_to": ""}, "Enter both times"),
        ({"time_zone": "Mars/Base"}, "valid choice"),
    ],
)
def test_what_cannot_work_is_refused(values: dict, error: str) -> None:
    _ayse, client = person("operator")

    assert error in errors(client.post(ADD, form(**values)))
    assert not Channel.objects.exists()


def test_owners_make_channels_of_the_installation_and_name_servers() -> None:
    _ayse, client = person("owner")

    assert client.post(ADD, form(owner="", address="json://10.0.0.1/")).status_code == 302

    assert Channel.objects.get().owner is None


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_users_see_and_change_their_own_channels_only(role: str) -> None:
    _can, owner = person("owner", "can")
    ayse, client = person(role)
    mine, other = make_channel(name="Mine", owner=ayse), make_channel(name="Not mine")
    page = reverse("admin:outbox_channel_change", args=[other.pk])

    shown = client.get(LIST).content.decode()
    assert "Mine" in shown
    assert "Not mine" not in shown
    assert client.get(page).status_code == 302  # it does not exist for her
    assert client.post(page, form(name="Stolen")).status_code == 302
    assert client.post(reverse("admin:outbox_channel_test", args=[other.pk])).status_code == 404
    assert Channel.objects.filter(name="Not mine").exists()
    assert "Not mine" in owner.get(LIST).content.decode()
    assert client.post(f"{LIST}{mine.pk}/delete/").status_code == 403


def test_a_rule_can_name_only_a_site_that_the_user_sees() -> None:
    _ayse, client = person("operator")

    answer = client.post(ADD, form({"scope": "another-site"}))

    assert "valid choice" in errors(answer)


def test_a_test_is_sent_and_recorded() -> None:
    ayse, client = person("operator")
    mine = make_channel(owner=ayse)
    page = reverse("admin:outbox_channel_test", args=[mine.pk])
    assert "o…@example.com" in client.get(page).content.decode()
    assert not OutboxMessage.objects.exists()

    client.post(page)

    assert OutboxMessage.objects.get().kind == "alert.test"
    assert LogEntry.objects.get().change_message == "Sent a test."

    Channel.objects.update(is_on=False)
    client.post(page)
    assert OutboxMessage.objects.count() == 1


def test_alerts_are_among_the_messages_for_owners_without_their_address(settings) -> None:
    ayse, operator = person("operator")
    _can, owner = person("owner", "can")
    message = send_test(make_channel("json://127.0.0.1:9/secret-token", kind="apprise", owner=ayse))
    send_alerts()  # no one is there
    page = reverse("admin:outbox_outboxmessage_change", args=[message.pk])

    for address in (reverse("admin:outbox_outboxmessage_changelist"), page):
        shown = owner.get(address).content.decode()
        assert "alert.test" in shown
        assert "secret-token" not in shown
    assert operator.get(page).status_code in (302, 403, 404)
