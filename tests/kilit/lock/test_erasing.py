"""Texts of the audit trail change only while erasing, and nothing else of it ever does."""

from uuid import uuid4

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django_q.models import Task

from kilit.batches.models import BulkAction
from kilit.lock.audit import acting_as
from kilit.lock.free_text import email_pattern, id_pattern, phone_pattern, scrub, scrub_addresses
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.lock.triggers import erasing
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db

CLICK = "Cj0KCQiA-7fLBhDKARIsAP8zXk2q_of-a-person_wcB"
EVENT_COLUMNS = {
    "id": "id + 1",
    "queue": "'other'",
    "object_id": "gen_random_uuid()",
    "event_type": "'OTHER'",
    "from_state": "'X'",
    "to_state": "'X'",
    "actor": "'nobody'",
    "created_at": "created_at - interval '1 second'",
}
ACTIVITY_COLUMNS = {
    "id": "id + 1",
    "kind": "'pause'",
    "actor": "'nobody'",
    "person": "'nobody'",
    "queue": "'other'",
    "scope": "'other'",
    "verb": "'other'",
    "rows": "rows + 1",
    "model": "'other'",
    "object_id": "'other'",
    "is_part": "NOT is_part",
    "first_event": "7",
    "last_event": "7",
    "created_at": "created_at - interval '1 second'",
}


@pytest.fixture
def trail() -> None:
    Parcel.objects.create()
    Activity.objects.record(ActivityKind.ACTION, "retry", queue="parcel", actor="operator:ayse")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        *(("lock_event", column, value) for column, value in EVENT_COLUMNS.items()),
        *(("lock_activity", column, value) for column, value in ACTIVITY_COLUMNS.items()),
    ],
)
def test_nothing_but_texts_changes_while_erasing(sql, trail, table: str, column: str, value: str) -> None:
    with (
        pytest.raises(IntegrityError, match="cannot be updated, except for their texts"),
        transaction.atomic(),
        erasing(),
    ):
        sql(f"UPDATE {table} SET message = 'x', {column} = {value}")

    assert not Event.objects.filter(message="x").exists()


def test_every_other_column_was_tried() -> None:
    assert {*EVENT_COLUMNS, "message", "details"} == {field.column for field in Event._meta.fields}
    assert {*ACTIVITY_COLUMNS, "message", "object_name"} == {field.column for field in Activity._meta.fields}


@pytest.mark.parametrize("table", ["lock_event", "lock_activity"])
@pytest.mark.parametrize("setting", ["", "off", "ON", "1"])
def test_texts_change_only_while_erasing(sql, trail, table: str, setting: str) -> None:
    sql("SELECT set_config('kilit.erasing', %s, true)", setting)

    with pytest.raises(IntegrityError, match="cannot be updated"), transaction.atomic():
        sql(f"UPDATE {table} SET message = 'x'")


def test_texts_can_be_changed_while_erasing_and_not_after(sql, trail) -> None:
    with erasing():
        sql("UPDATE lock_event SET message = 'x', details = '{}'")

    assert set(Event.objects.values_list("message", flat=True)) == {"x"}
    with pytest.raises(IntegrityError, match="events cannot be updated"), transaction.atomic():
        sql("UPDATE lock_event SET message = 'y'")


@pytest.mark.parametrize("statement", ["DELETE FROM lock_event", "TRUNCATE lock_event", "TRUNCATE lock_activity"])
def test_erasing_deletes_nothing(sql, trail, statement: str) -> None:
    with pytest.raises(IntegrityError, match="cannot be"), transaction.atomic(), erasing():
        sql(statement)


@pytest.mark.parametrize("column", ["filters", "options"])
def test_what_a_bulk_action_was_asked_for_changes_only_while_erasing(sql, admin_user, column: str) -> None:
    asked = {"queue": "parcel", "action": "retry", "filters": {"q": CLICK}, "reason": "fixed", "asked_by": admin_user}
    BulkAction.objects.create(**asked)
    statement = f'UPDATE bulk_bulkaction SET {column} = \'{{"q": "x"}}\''

    with pytest.raises(IntegrityError, match="cannot change their filters and options"), transaction.atomic():
        sql(statement)

    with erasing():
        sql(statement)
    assert BulkAction.objects.filter(**{column: {"q": "x"}}).count() == 1


def removed(text: str, pattern: str) -> str:
    """Return a text as PostgreSQL and Python scrub it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT regexp_replace(%s, %s, '…', 'gi')", [text, pattern])
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"The click {CLICK} is too old.", "The click … is too old."),
        (f"gclid={CLICK}&x=1", "gclid=…&x=1"),
        (f'{{"last_error": "of {CLICK.lower()}"}}', '{"last_error": "of …"}'),
        (f"cut off at {CLICK[:30]}", "cut off at …"),
        (f'{{"a": "cut off at {CLICK[:30]}", "b": 1}}', '{"a": "cut off at …", "b": 1}'),
        (f"{CLICK[:30]}-another of the campaign", f"{CLICK[:30]}-another of the campaign"),
        ("nothing", "nothing"),
    ],
)
def test_ids_are_found_in_texts(text: str, left: str) -> None:
    assert removed(text, id_pattern(CLICK)) == left


def test_a_short_id_is_a_word_of_its_own() -> None:
    assert removed("abc abcd a-abc (abc).", id_pattern("abc")) == "… abcd a-abc (…)."


@pytest.mark.parametrize("text", ['a"b\\c', "çay+1", "a b", "100%", "(.*)"])
def test_an_id_is_found_as_json_and_in_addresses(text: str) -> None:
    row = Parcel.objects.create()
    Event.objects.record(row, "NOTE", message=text, details={"text": f"of {text}!"})

    scrub([id_pattern(text)], objects=[row.pk])

    event = Event.objects.of(row).last()
    assert (event.message, event.details) == ("…", {"text": "of …!"})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Jane.Doe@Example.com asked.", "… asked."),
        ("to: <jane.doe@example.com>.", "to: <…>."),
        ("next=jane.doe%40example.com", "next=…"),
        ("mary.jane.doe@example.com", "mary.jane.doe@example.com"),
        ("jane.doe@example.com.tr", "jane.doe@example.com.tr"),
    ],
)
def test_addresses_are_found_in_texts(text: str, left: str) -> None:
    assert removed(text, email_pattern("jane.doe@example.com")) == left


@pytest.mark.parametrize("number", ["+905321234567", "0532 123 45 67", "+90 (532) 123-45-67", "5321234567"])
def test_phones_are_found_in_texts(number: str) -> None:
    assert removed(f"Call {number}, please.", phone_pattern("90", "5321234567")) == "Call …, please."


@pytest.mark.parametrize("number", ["75321234567", "53212345678", "905321234568"])
def test_other_numbers_stay(number: str) -> None:
    assert removed(number, phone_pattern("90", "5321234567")) == number


def test_a_reason_is_removed_from_all_jobs_that_were_moved_for_it() -> None:
    with acting_as("operator:ayse", reason=f"{CLICK} complained"):
        for _ in range(3):
            Parcel.objects.create()
        Parcel.objects.move("lose")
    other = Parcel.objects.create()

    scrub([id_pattern(CLICK)], objects=[])

    moves = Event.objects.filter(event_type="STATE_LOST")
    assert set(moves.values_list("message", "actor")) == {("… complained", "operator:ayse")}
    assert not Activity.objects.filter(message__contains=CLICK).exists()
    assert Event.objects.of(other).count() == 1


def test_errors_of_tasks_and_sessions_are_scrubbed() -> None:
    now = timezone.now()
    error = f"IntegrityError : Failing row contains ({CLICK}, 7)"
    Task.objects.create(id=uuid4().hex, name="t", func="f", started=now, stopped=now, success=False, result=error)
    session = SessionStore()
    session["undo"] = {"columns": {"last_error": f"of {CLICK}"}, "kept": 7}
    session.save()

    scrub([id_pattern(CLICK)], objects=[])

    assert Task.objects.get().result == "IntegrityError : Failing row contains (…, 7)"
    assert Session.objects.get().get_decoded() == {"undo": {"columns": {"last_error": "of …"}, "kept": 7}}


def test_all_addresses_of_a_job_can_be_removed() -> None:
    row, other = Parcel.objects.create(), Parcel.objects.create()
    text = "ali@example.com.tr or +90 532 123-45-67 on 2026-11-16 19:36:43, order 5321234567"
    for each in (row, other):
        Event.objects.record(each, "NOTE", message=text)

    scrub_addresses([row.pk])

    assert Event.objects.of(row).last().message == "… or … on 2026-11-16 19:36:43, order 5321234567"
    assert Event.objects.of(other).last().message == text
