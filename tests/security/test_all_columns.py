"""The search through all columns finds what is there: a search that finds nothing proves nothing."""

import base64
import json
from uuid import uuid4

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection

from kilit.lock.models import Event
from tests.support.all_columns import columns_with

SECRET = "Gülşen.“x”@example.com"

pytestmark = pytest.mark.django_db


def store(kind: str, value: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE drawer (held {kind})")
        cursor.execute("INSERT INTO drawer VALUES (%s)", [value])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", f"before {SECRET.lower()} after"),
        ("varchar(80)[]", ["other", SECRET]),
        ("jsonb", json.dumps({"a": [SECRET]})),
        ("json", json.dumps({SECRET: 1})),
        ("bytea", b"\x00\xff" + b"gulsen@example.com"),
        *(("text", base64.b64encode(b"." * before + SECRET.encode() + b"..").decode()) for before in range(3)),
    ],
)
def test_a_text_is_found_in(kind, value) -> None:
    assert columns_with(SECRET, "gulsen@example.com") == []

    store(kind, value)

    assert columns_with(SECRET, "gulsen@example.com") == ["public.drawer.held"]


def test_a_text_is_found_in_the_tables_of_the_product_and_in_sessions() -> None:
    note = {"event_type": "X", "from_state": "NEW", "to_state": "NEW"}
    Event.objects.create(queue="x", object_id=uuid4(), **note, message=SECRET, details={"a": SECRET})
    session = SessionStore()
    session["note"] = SECRET
    session.save()

    assert sorted(columns_with(SECRET)) == [
        "public.lock_event.details",
        "public.lock_event.message",
        f"session {session.session_key}",
    ]
