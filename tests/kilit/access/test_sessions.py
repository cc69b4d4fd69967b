"""Rows of sessions: none before a login, and none that stay after they have expired."""

import re
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from kilit.access import sessions
from kilit.workers.sweeps import run
from tests.support.admin_addresses import routes
from tests.support.second_factors import PASSWORD

pytestmark = pytest.mark.django_db

PART = re.compile(r"<(?:(\w+):)?\w+>")


def all_paths() -> Iterator[str]:
    """Return a path of every route, with something in its parts."""
    for route, _pattern in routes():
        text = PART.sub(lambda part: str(UUID(int=1)) if part[1] == "uuid" else "1", route)
        yield "/" + re.sub(r"\(\?P<\w+>.*?\)|[\\^$]", "", text)


def test_no_page_stores_a_session_for_someone_who_is_not_logged_in(settings) -> None:
    settings.SECOND_FACTOR, settings.EMAIL_HOST = "allowed", "localhost"
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    paths = list(all_paths())
    assert {"/admin/login/oidc/", "/admin/password-reset/1/1/", "/api/oci/conversions", "/admin/"} <= set(paths)

    for path in paths:
        visitor = Client(raise_request_exception=False)
        for answer in (visitor.get(path), visitor.post(path, {})):
            assert "sessionid" not in answer.cookies, path

    assert not Session.objects.exists()


def test_a_wrong_password_and_a_choice_of_language_store_no_session() -> None:
    User.objects.create_superuser("boss", "", PASSWORD)
    visitor = Client()

    visitor.post("/admin/login/", {"username": "boss", "password": "wrong"})
    visitor.post("/admin/language/", {"language": "tr", "next": "/admin/login/"})

    assert not Session.objects.exists()


def test_expired_sessions_are_deleted_in_batches_and_others_stay(monkeypatch) -> None:
    monkeypatch.setattr(sessions, "BATCH", 3)
    now = timezone.now()
    for number in range(10):
        Session.objects.create(pk=f"old-{number}", session_data="", expire_date=now - timedelta(minutes=1))
    Session.objects.create(pk="new", session_data="", expire_date=now + timedelta(hours=1))

    result = run("forget_sessions")

    assert result == "Deleted 10."
    assert list(Session.objects.values_list("pk", flat=True)) == ["new"]


def test_a_session_that_ended_says_so_and_leads_back(make_person) -> None:
    client = make_person()
    client.logout()

    interrupted = client.get("/admin/pdfjobs/pdfjob/?status=failed", follow=True)
    first = client.get("/admin/", follow=True)

    assert "your session has ended" in interrupted.text
    assert "/admin/pdfjobs/pdfjob/%3Fstatus%3Dfailed" in interrupted.redirect_chain[0][0]
    assert "your session has ended" not in first.text


def test_who_may_not_do_something_reads_whom_to_ask(make_person) -> None:
    answer = make_person(role="viewer").get("/admin/access/apikey/add/")

    assert answer.status_code == 403
    assert "Ask an owner of this installation, or an admin of the site." in answer.text
