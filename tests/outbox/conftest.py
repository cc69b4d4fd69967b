import pytest

from kilit.api.webhooks import WebhookKind, webhook_kinds
from tests.support.fixtures.log_lines import log_lines
from tests.support.fixtures.pdf_jobs import _own_store, api, worker_lives
from tests.support.fixtures.webhooks import endpoint_at, receiver
from tests.support.outbox import PARCEL_CARRIED

__all__ = ["_own_store", "api", "endpoint_at", "log_lines", "receiver", "worker_lives"]


@pytest.fixture
def parcel_kind(monkeypatch: pytest.MonkeyPatch) -> WebhookKind:
    """Let parcels be reported, besides what the product reports."""
    monkeypatch.setitem(webhook_kinds, PARCEL_CARRIED.name, PARCEL_CARRIED)
    return PARCEL_CARRIED
