"""People and rows of all three queues for the tests of what the console shows of them together."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from ociqueue.models import Conversion, Site, SiteMembership
from tests.ociqueue.conftest import new_conversion
from tests.support.waiting import wait_until


@pytest.fixture
def make_person() -> Callable[..., Client]:
    """Log a person in: with a role, and as a member of sites."""

    def make(username: str = "ayse", *, role: str | None = "operator", sites: tuple[Site, ...] = ()) -> Client:
        user = User.objects.create_user(username, is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        for site in sites:
            SiteMembership.objects.create(site=site, user=user, role=role or "viewer")
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def within_the_hour(sql, db: None) -> None:
    """Begin in no hour's last minute: what a test made would be of the hour before, and not of the last one told."""
    ends = "SELECT clock_timestamp() > date_trunc('hour', clock_timestamp()) + interval '59 minutes'"
    wait_until(lambda: sql(ends) == [(False,)])


def make_site(name: str = "Mobilya", **columns: Any) -> Site:
    """Store a site."""
    return Site.objects.create(**{"name": name, "default_currency": "TRY", **columns})


def make_conversions(site: Site, *, well: int = 0, badly: int = 0, waiting: int = 0) -> None:
    """Store conversions that went their ways."""
    Conversion.objects.bulk_create(new_conversion(site) for _ in range(well + badly))
    rows = Conversion.objects.for_site(site)
    rows.claim(limit=well + badly)
    chosen = list(rows.filter(status="PROCESSING").values_list("pk", flat=True))
    rows.filter(pk__in=chosen[:well]).ack()
    rows.filter(pk__in=chosen[well:]).ack_failed(code="X", category="VALIDATION", message="")
    Conversion.objects.bulk_create(new_conversion(site) for _ in range(waiting))
