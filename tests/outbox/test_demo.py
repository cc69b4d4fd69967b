"""The demo's endpoint goes to the receiver that `manage.py up` starts."""

from collections import Counter
from ipaddress import ip_network

import pytest

from config.settings.environment import Environment
from kilit.api.webhooks import webhook_kinds
from outbox import demo, sending
from outbox.models import Endpoint, OutboxMessage
from tests.support.outbox import make_message


@pytest.mark.django_db
def test_the_demo_has_one_endpoint_whatever_port_its_receiver_has(receiver) -> None:
    first = demo.load_demo("http://127.0.0.1:1/")

    receiver.trust(*demo.load_demo(f"{receiver.url}/"))
    make_message()
    sending.send_due()

    endpoint = Endpoint.objects.get()
    assert endpoint.secrets(endpoint.created_at) == first
    assert set(endpoint.kinds) == set(webhook_kinds)
    assert OutboxMessage.objects.get().status == "DELIVERED"


def test_this_machine_is_allowed_besides_what_is_configured(settings, monkeypatch, tmp_path) -> None:
    settings.WEBHOOK_PRIVATE_ADDRESSES = [ip_network("10.20.0.0/16")]
    monkeypatch.setenv("KILIT_WEBHOOK_PRIVATE_ADDRESSES", demo.private_addresses())

    read = Environment(tmp_path).networks("KILIT_WEBHOOK_PRIVATE_ADDRESSES")

    assert read == [ip_network("10.20.0.0/16"), ip_network("127.0.0.1"), ip_network("::1")]


@pytest.mark.django_db
def test_the_endpoint_whose_messages_failed_is_made_once_and_sends_nothing() -> None:
    demo.load_failed_messages()
    demo.load_failed_messages()

    endpoint = Endpoint.objects.get()
    statuses = Counter(endpoint.messages.values_list("status", flat=True))
    assert (endpoint.is_on, endpoint.origin) == (False, "https://warehouse.invalid")
    assert statuses == {"FAILED": 4, "DELIVERED": 2, "QUEUED": 1}
    assert not OutboxMessage.objects.claimable().exists()
