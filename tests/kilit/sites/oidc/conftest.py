from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from kilit.sites.oidc.client import TURNS
from kilit.sites.oidc.grants import read_grants
from tests.support.oidc_provider import CLIENT, SECRET, Provider, running_provider, way_back

PERSON = {"sub": "person-1", "preferred_username": "ayse", "email": "ayse@example.com", "groups": ["ops"]}


def _forget_provider() -> None:
    cache.clear()
    TURNS.resume()


@pytest.fixture
def provider(settings) -> Iterator[Provider]:
    with running_provider() as found:
        found.person = dict(PERSON)
        settings.PUBLIC_URL = "http://testserver"
        settings.OIDC_ISSUER, settings.OIDC_NAME = found.address, "Example ID"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
        settings.OIDC_GRANTS = read_grants("ops=operator; bosses=admin; readers=viewer")
        _forget_provider()
        yield found
        _forget_provider()


@pytest.fixture
def come_back(provider) -> Callable[..., str]:
    """Return a function that goes to the provider, and returns the address that leads back."""

    def go(client: Client, address: str = "/admin/login/oidc/") -> str:
        away = client.get(address)
        assert away.status_code == 302, away.content.decode()
        return way_back(away["Location"])

    return go


@pytest.fixture
def log_in(come_back) -> Callable[..., Any]:
    """Return a function that logs in by the provider; it returns our last answer."""

    def enter(client: Client | None = None, address: str = "/admin/login/oidc/") -> Any:
        browser = client or Client()
        return browser.get(come_back(browser, address))

    return enter
