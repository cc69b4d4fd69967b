"""People with a role, and memberships of sites."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from kilit.sites.models import SiteMembership
from ociqueue.models import Site

Memberships = Mapping[Site, str] | Iterable[Site]


def make_user(
    username: str = "ayse",
    *,
    role: str | None = "operator",
    sites: Memberships = (),
    is_staff: bool = True,
    **columns: Any,
) -> User:
    """Store a person, who is at each site what is said, or what the role is."""
    user = User.objects.create_user(username, is_staff=is_staff, **columns)
    user.groups.set(Group.objects.filter(name=role))
    roles = sites if isinstance(sites, Mapping) else dict.fromkeys(sites, role or "viewer")
    for site, site_role in roles.items():
        SiteMembership.objects.create(site=site, user=user, role=site_role)
    return user


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def make_person(username: str = "ayse", *, role: str | None = "operator", sites: Memberships = ()) -> Client:
    """Log a person in."""
    return browser_of(make_user(username, role=role, sites=sites))
