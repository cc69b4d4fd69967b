"""People with a role, and memberships of sites."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User, update_last_login
from django.contrib.sessions.backends.db import SessionStore
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
    """Return a browser with a session; a login would also record itself twice, which takes most of its time."""
    update_last_login(User, user)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    return client


def make_person(username: str = "ayse", *, role: str | None = "operator", sites: Memberships = ()) -> Client:
    """Log a person in."""
    return browser_of(make_user(username, role=role, sites=sites))
