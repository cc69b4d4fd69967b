from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from kilit.api.webhooks import WebhookKind, webhook_kinds
from kilit.outgoing import posting
from outbox import sending
from outbox.models import Endpoint
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.outbox import PARCEL_CARRIED, make_endpoint
from tests.support.waiting import PATIENCE


@pytest.fixture
def parcel_kind(monkeypatch: pytest.MonkeyPatch) -> WebhookKind:
    """Let parcels be reported, besides what the product reports."""
    monkeypatch.setitem(webhook_kinds, PARCEL_CARRIED.name, PARCEL_CARRIED)
    return PARCEL_CARRIED


@pytest.fixture
def receiver(settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    """A receiver on this machine, which webhooks may go to, and a time limit for busy machines."""
    settings.WEBHOOK_PRIVATE_ADDRESSES = [ip_network("127.0.0.1")]
    monkeypatch.setattr(posting, "TIME_LIMIT", PATIENCE)
    monkeypatch.setattr(sending, "paces", {})
    started = WebhookReceiver([]).start()
    yield started
    started.stop()


@pytest.fixture
def endpoint_at(receiver: WebhookReceiver) -> Callable[..., Endpoint]:
    """Make an endpoint at a path of the receiver, which knows its secret."""

    def make(path: str = "/hook", **columns: Any) -> Endpoint:
        endpoint = make_endpoint(url=f"{receiver.url}{path}", **columns)
        receiver.trust(*endpoint.secrets(endpoint.created_at))
        return endpoint

    return make
