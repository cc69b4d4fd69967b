"""An API site with a login at a Google Ads server on loopback, and the real client in between."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ociqueue.models import Conversion, Credentials, Site
from ociqueue.models.credentials import Account
from ociqueue.states import SyncMethod
from simulators.googleads.server import GoogleAdsServer
from tests.ociqueue.conftest import new_conversion

CUSTOMER = "1234567890"


@pytest.fixture(scope="session")
def _google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleAdsServer]:
    server = GoogleAdsServer(tmp_path_factory.mktemp("google")).start()
    yield server
    server.stop()


@pytest.fixture
def google(_google: GoogleAdsServer, settings: Any) -> GoogleAdsServer:
    """A server that accepts everything, until the test says otherwise."""
    _google.reset()
    settings.GOOGLE_ADS_ENDPOINT = _google.environment["KILIT_GOOGLE_ADS_ENDPOINT"]
    settings.GOOGLE_TOKEN_URI = _google.environment["KILIT_GOOGLE_TOKEN_URI"]
    settings.GOOGLE_ADS_TIMEOUT = 60
    return _google


def account(**columns: Any) -> Account:
    return Account(
        **{
            "customer_id": CUSTOMER,
            "client_id": "client",
            "client_secret": "client-secret-word",
            "refresh_token": "refresh-token-word",
            "conversion_action": f"customers/{CUSTOMER}/conversionActions/7",
            **columns,
        }
    )


@pytest.fixture
def make_api_site(make_site: Callable[..., Site]) -> Callable[..., Site]:
    def make(**columns: Any) -> Site:
        site = make_site(**{"sync_method": SyncMethod.API, **columns})
        Credentials.objects.store(site, account())
        return site

    return make


@pytest.fixture
def api_site(make_api_site: Callable[..., Site]) -> Site:
    return make_api_site()


@pytest.fixture
def make_rows() -> Callable[..., list[Conversion]]:
    """Store rows with the click ids given, or with so many of their own; the oldest first."""

    def make(site: Site, *click_ids: str, count: int = 0, **columns: Any) -> list[Conversion]:
        named = click_ids or tuple(f"click-{number}" for number in range(count))
        start = datetime.now(UTC) - timedelta(hours=1)
        rows = [
            new_conversion(site, gclid=gclid, created_at=start + timedelta(milliseconds=number), **columns)
            for number, gclid in enumerate(named)
        ]
        Conversion.objects.bulk_create(rows)
        return list(Conversion.objects.filter(pk__in=[row.pk for row in rows]).order_by("created_at", "id"))

    return make


def states(site: Site) -> list[str]:
    return list(Conversion.objects.for_site(site).order_by("created_at", "id").values_list("status", flat=True))
