"""The activity: one row for what a person or a scheduled task did in one statement."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, transaction
from django.db.models.functions import Now
from django.test import Client

from kilit.access.models import DenialCode, DeniedRequest
from kilit.lock.audit import acting_as, without_activity
from kilit.lock.leases import new_lease
from kilit.lock.models import Activity, Event
from tests.apps.parcels.models import LEASE, Parcel

pytestmark = pytest.mark.django_db


def carry(*depots: str, actor: str) -> None:
    """Claim a parcel of each depot in one statement."""
    Parcel.objects.bulk_create(Parcel(depot=depot) for depot in depots)
    with acting_as(actor, reason="they were late"):
        Parcel.objects.waiting().move("claim", **new_lease(LEASE))


def test_jobs_moved_by_one_statement_are_one_line() -> None:
    carry("ankara", "ankara", actor="operator:ayse")

    (line,) = Activity.objects.all()
    assert (line.kind, line.person, line.queue, line.scope) == ("action", "ayse", "parcel", "ankara")
    assert (line.verb, line.rows, line.object_id, line.message) == ("claim", 2, "", "they were late")
    moved = Event.objects.filter(event_type="STATE_CARRIED").values_list("id", flat=True)
    assert {line.first_event, line.last_event} == set(moved)


def test_one_job_is_named() -> None:
    carry("ankara", actor="operator:ayse")

    assert Activity.objects.get().object_id == str(Parcel.objects.get().pk)


def test_jobs_of_several_sites_are_one_line_in_all_and_one_for_each_site() -> None:
    carry("ankara", "ankara", "izmir", actor="sweep:parcels_recover")

    lines = Activity.objects.order_by("scope").values_list("kind", "person", "scope", "rows", "is_part")
    assert list(lines) == [
        ("task", "", "", 3, False),
        ("task", "", "ankara", 2, True),
        ("task", "", "izmir", 1, True),
    ]


@pytest.mark.parametrize("actor", ["worker:here", "key:script", "runner:pc", "demo", ""])
def test_what_machines_do_to_each_job_is_left_out(actor: str) -> None:
    carry("ankara", actor=actor)

    assert not Activity.objects.exists()
    assert Event.objects.filter(event_type="STATE_CARRIED").exists()


def test_moves_that_belong_to_something_larger_are_left_out() -> None:
    with transaction.atomic(), without_activity():
        carry("ankara", actor="operator:ayse")

    assert not Activity.objects.exists()


def test_changes_of_settings_are_in_it() -> None:
    ayse, type_ = User.objects.create_user("ayse"), ContentType.objects.get_for_model(User)
    change = {"content_type": type_, "object_id": "7", "object_repr": "can", "action_flag": CHANGE}

    LogEntry.objects.create(user=ayse, change_message="Resumed.", **change)
    LogEntry.objects.create(user=ayse, change_message='[{"changed": {"fields": ["Name"]}}]', **change)

    found = Activity.objects.order_by("id").values_list("kind", "person", "verb", "model", "object_name")
    assert list(found) == [
        ("pause", "ayse", "changed", "auth.user", "can"),
        ("member", "ayse", "changed", "auth.user", "can"),
    ]


def test_denied_requests_are_in_it_once_a_minute() -> None:
    for _ in range(3):
        DeniedRequest.objects.record(actor="viewer:can", method="POST", path="/admin/x/", code=DenialCode.FORBIDDEN)

    line = Activity.objects.get()
    assert (line.kind, line.person, line.verb, line.object_name) == ("denied", "can", "FORBIDDEN", "POST /admin/x/")


def test_logins_are_in_it(client: Client) -> None:
    User.objects.create_user("ayse", password="x", is_staff=True)

    client.post("/admin/login/", {"username": "ayse", "password": "x"})

    line = Activity.objects.get()
    assert (line.kind, line.person, line.verb) == ("login", "ayse", "login")


def test_it_cannot_be_changed_and_only_old_logins_are_deleted(sql) -> None:
    carry("ankara", actor="operator:ayse")
    sql("INSERT INTO lock_activity (kind, actor, verb, created_at) VALUES ('login', '', '', now() - interval '8 days')")

    assert Activity.objects.forget_old(before=Now() - timedelta(days=7)) == 1
    for attempt in (lambda: Activity.objects.update(actor="x"), lambda: Activity.objects.all().delete()):
        with pytest.raises(DatabaseError, match="activity cannot be"), transaction.atomic():
            attempt()
