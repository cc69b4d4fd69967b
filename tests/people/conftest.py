"""The demo's rows and people, a stranger who runs another site, and a user who can reset a password."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client, override_settings

from config.demo import load_demo
from kilit.access.password_reset import save_and_mail
from kilit.console.account import password_pages
from ociqueue.demo import SHOWCASE
from ociqueue.models import Site, SiteMembership
from tests.support.password_resets import OLD, PUBLIC

PEOPLE = {"viewer": "demo-viewer", "operator": "demo-operator", "admin": "demo-admin", "owner": "demo-owner"}


@pytest.fixture
def demo(tmp_path, db: None) -> dict[str, Any]:
    """Load the demo: something in every state of every queue."""
    # Only while it is loaded, by a connection that is open: the database is found by the same setting.
    connection.ensure_connection()
    with override_settings(KILIT_VAR=tmp_path):
        return load_demo()


@pytest.fixture
def stranger(demo) -> User:
    """An operator of another site."""
    other = Site.objects.create(name="Somebody else's", default_currency="TRY")
    user = User.objects.create_user("stranger", is_staff=True)
    user.groups.set(Group.objects.filter(name="operator"))
    SiteMembership.objects.create(site=other, user=user, role="operator")
    return user


@pytest.fixture
def showcase(demo) -> Site:
    return Site.objects.get(name=SHOWCASE)


@pytest.fixture
def client_of(demo, stranger) -> Callable[[str], Client]:
    """Return a browser of a role: anonymous, viewer, stranger, operator, admin, owner."""

    def enter(role: str) -> Client:
        client = Client(raise_request_exception=True)
        if role != "anonymous":
            client.force_login(User.objects.get(username=PEOPLE.get(role, role)))
        return client

    return enter


@pytest.fixture
def mail_set_up(settings, monkeypatch) -> None:
    """Have a mail server; threads would not see what a test has not committed."""
    settings.EMAIL_HOST, settings.PUBLIC_URL = "mail.example", PUBLIC
    monkeypatch.setattr(password_pages, "send_links", lambda form: save_and_mail(form) is None)


@pytest.fixture
def ayse(db: None) -> User:
    return User.objects.create_user("ayse", "ayse@example.com", OLD, is_staff=True)
