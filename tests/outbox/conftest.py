import pytest

from kilit.api.webhooks import WebhookKind, webhook_kinds
from tests.support.fixtures.webhooks import endpoint_at, receiver
from tests.support.outbox import PARCEL_CARRIED

__all__ = ["endpoint_at", "receiver"]


@pytest.fixture
def parcel_kind(monkeypatch: pytest.MonkeyPatch) -> WebhookKind:
    """Let parcels be reported, besides what the product reports."""
    monkeypatch.setitem(webhook_kinds, PARCEL_CARRIED.name, PARCEL_CARRIED)
    return PARCEL_CARRIED
