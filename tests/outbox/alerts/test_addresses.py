"""Which addresses a channel may have, and what is shown of them."""

import pytest
from django.core.exceptions import ValidationError

from outbox.alerts.addresses import check_address, shown_address
from outbox.models.channel import ChannelKind
from tests.support.alerts import make_channel

SERVICES = [
    "tgram://123456789:AAEabcdefghijklmnopqrstuvwxyz12345678/12345",
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
    "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "ntfy://our-topic",
    "ntfys://ntfy.sh/our-topic",
    "workflows://prod-1.westeurope.logic.azure.com:443/643e69f83c8944/signature",
]
OWN_SERVERS = [
    "json://127.0.0.1/hook",
    "jsons://intranet.example/hook",
    "ntfy://10.0.0.7/topic",
    "ntfy://ntfy.sh.evil.example/topic",
    "workflows://logic.azure.com.evil.example/643e69f83c8944/signature",
    "mailto://user:password@mail.example",
    "mmosts://chat.example/token",
]
REFUSED = ["file:///etc/passwd", "syslog://", "FILE:///x", "SYSLOG://", "gibberish", "https://example.com", ""]


@pytest.mark.parametrize("address", SERVICES)
def test_services_for_everyone_are_open_to_everyone(address: str) -> None:
    check_address(ChannelKind.APPRISE, address, may_name_hosts=False)


@pytest.mark.parametrize("address", OWN_SERVERS)
def test_only_owners_name_a_server_of_their_own(address: str) -> None:
    check_address(ChannelKind.APPRISE, address, may_name_hosts=True)

    with pytest.raises(ValidationError, match="Only owners"):
        check_address(ChannelKind.APPRISE, address, may_name_hosts=False)


@pytest.mark.parametrize("address", REFUSED)
def test_what_apprise_cannot_send_to_or_would_do_on_this_machine_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        check_address(ChannelKind.APPRISE, address, may_name_hosts=True)


def test_an_e_mail_address_is_checked_and_needs_a_mail_server(settings) -> None:
    settings.EMAIL_HOST = "mail.example"
    check_address(ChannelKind.EMAIL, "ops@example.com", may_name_hosts=False)
    with pytest.raises(ValidationError):
        check_address(ChannelKind.EMAIL, "ops@example.com\nBcc: x@example.com", may_name_hosts=False)

    settings.EMAIL_HOST = ""
    with pytest.raises(ValidationError, match="EMAIL_URL"):
        check_address(ChannelKind.EMAIL, "ops@example.com", may_name_hosts=False)


@pytest.mark.django_db
def test_addresses_are_encrypted_and_shown_without_secrets() -> None:
    mail, chat = make_channel("ops.team@example.com"), make_channel(SERVICES[0], kind=ChannelKind.APPRISE)

    assert (shown_address(mail), shown_address(chat)) == ("o…@example.com", "tgram://…")
    assert "example.com" not in mail.encrypted_address
    assert chat.address == SERVICES[0]
