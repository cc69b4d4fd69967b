"""Whose request is about to send a large body, by the database."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from config.web.server.admission import Caller, RequestCredentials
from config.web.server.callers import identify
from kilit.access.models import ApiKey
from ociqueue.api.authentication import open_session
from ociqueue.models import Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ayse")


def test_a_valid_key_is_known_in_either_header_and_a_revoked_one_is_not(user: User) -> None:
    key, text = ApiKey.objects.issue(user, name="shop")

    given = [
        RequestCredentials(key=text),
        RequestCredentials(authorization=f"Bearer {text}"),
        RequestCredentials(key=f"{text}x"),
    ]
    assert [identify(each) for each in given] == [Caller.KEY, Caller.KEY, Caller.UNKNOWN]

    ApiKey.objects.filter(pk=key.pk).revoke()

    assert [identify(each) for each in given] == [Caller.UNKNOWN] * 3


def test_the_token_of_a_script_is_known(user: User) -> None:
    key, _text = ApiKey.objects.issue(user, name="script")
    token, _end = open_session(key, Site.objects.create(name="Shop", default_currency="TRY"))

    assert identify(RequestCredentials(authorization=f"Bearer {token}")) is Caller.KEY
    assert identify(RequestCredentials(authorization=f"Bearer {token}x")) is Caller.UNKNOWN


def test_a_session_is_known_while_its_user_is_logged_in(user: User) -> None:
    client = Client()
    client.force_login(user)
    session = RequestCredentials(session=client.cookies["sessionid"].value)
    assert identify(session) is Caller.SESSION

    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))

    assert identify(session) is Caller.UNKNOWN


def test_a_session_without_a_user_is_not_known() -> None:
    session = Client().session
    session["language"] = "tr"
    session.save()

    assert identify(RequestCredentials(session=session.session_key)) is Caller.UNKNOWN
    assert identify(RequestCredentials(session="forged")) is Caller.UNKNOWN
