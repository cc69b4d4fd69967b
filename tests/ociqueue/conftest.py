"""Sites, conversions and people for the conversion queue's tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from ociqueue.entry import order_id
from ociqueue.models import Conversion, Site, SiteMembership


@pytest.fixture
def make_site() -> Callable[..., Site]:
    def make(**columns: Any) -> Site:
        return Site.objects.create(**{"name": "Mobilya", "default_currency": "TRY", **columns})

    return make


@pytest.fixture
def site(make_site) -> Site:
    return make_site()


def new_conversion(site: Site, **columns: Any) -> Conversion:
    """Return a valid row, not stored yet."""
    click_id = {} if columns.keys() & set(Conversion.CLICK_IDS) else {"gclid": "Cj0KCQ-test_1"}
    conversion = Conversion(
        site=site,
        **{
            "action": "Satış",
            "conversion_time": datetime.now(UTC) - timedelta(hours=2),
            "value": 120,
            "currency": "TRY",
            **click_id,
            **columns,
        },
    )
    conversion.order_id = order_id(conversion)
    return conversion


@pytest.fixture
def make_conversion() -> Callable[..., Conversion]:
    def make(site: Site, **columns: Any) -> Conversion:
        conversion = new_conversion(site, **columns)
        conversion.save()
        return Conversion.objects.get(pk=conversion.pk)

    return make


@pytest.fixture
def site_key() -> Callable[[Site], str]:
    return lambda site: site.issue_key(name="test")


@pytest.fixture
def make_person() -> Callable[..., Client]:
    """Log a person in; roles maps sites to what they are there."""

    def make(username: str = "ayse", *, role: str = "operator", sites: dict[Site, str] | None = None) -> Client:
        user = User.objects.create_user(username, is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        for site, site_role in (sites or {}).items():
            SiteMembership.objects.create(site=site, user=user, role=site_role)
        client = Client()
        client.force_login(user)
        return client

    return make


class Api:
    """The API as a client with a key sees it."""

    def __init__(self, key: str | None = None, client: Client | None = None) -> None:
        self.client = client or Client()
        self.headers = {"x-api-key": key} if key else {}

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/{path}", query, headers=self.headers)

    def post(self, path: str, body: Any) -> Any:
        return self.client.post(f"/api/{path}", body, content_type="application/json", headers=self.headers)

    def claim(self, site: Site, **query: Any) -> list[dict[str, Any]]:
        answer = self.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true", **query)
        assert answer.status_code == 200, answer.content
        return answer.json()


@pytest.fixture
def api(site, site_key) -> Api:
    return Api(site_key(site))
