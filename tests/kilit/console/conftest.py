"""People and rows of all three queues for the tests of what the console shows of them together."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.fixtures.people import client_of, demo, showcase, stranger
from tests.support.waiting import wait_until

__all__ = ["client_of", "demo", "showcase", "stranger"]


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
    """Do not start in the last minute of an hour: rows of the test would belong to the hour before."""
    ends = "SELECT clock_timestamp() > date_trunc('hour', clock_timestamp()) + interval '59 minutes'"
    wait_until(lambda: sql(ends) == [(False,)])
