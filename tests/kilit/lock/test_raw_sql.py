"""What psql can and cannot do: the database guards the rows and records their moves."""

from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from kilit.lock.audit import acting_as
from kilit.lock.models import Count, Event
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db

INSERT = "INSERT INTO parcels_parcel (id, status, depot, attempt_count, work) VALUES (%s, %s, '', 0, 0) RETURNING id"


def role() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        return str(cursor.fetchone()[0])


def test_an_illegal_move_is_refused_for_the_whole_statement(sql) -> None:
    waiting, lost = Parcel.objects.create(), Parcel.objects.create().move("lose")

    # Whichever of them is stored first is named.
    with pytest.raises(IntegrityError, match=r"cannot move from (WAITING|LOST) to DELIVERED"), transaction.atomic():
        sql("UPDATE parcels_parcel SET status = 'DELIVERED'")

    assert {p.pk: p.status for p in Parcel.objects.all()} == {waiting.pk: "WAITING", lost.pk: "LOST"}


def test_a_legal_move_names_the_database_role_as_actor(sql) -> None:
    ((key,),) = sql(INSERT, uuid4(), "WAITING")

    sql("UPDATE parcels_parcel SET status = 'LOST' WHERE id = %s", key)

    created, move = Event.objects.of(Parcel.objects.get())
    assert (created.event_type, created.from_state, created.to_state) == ("JOB_CREATED", "", "WAITING")
    assert (move.event_type, move.from_state, move.to_state) == ("STATE_LOST", "WAITING", "LOST")
    assert {created.actor, move.actor} == {role()}
    assert move.details == {"attempt_count": 0}


def test_copy_and_upsert_leave_witnesses_too(sql) -> None:
    key = uuid4()
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY parcels_parcel (id, status, depot, attempt_count, work) FROM STDIN") as copy,
    ):
        copy.write_row((key, "WAITING", "east", 0, 0))

    sql(
        INSERT.replace("RETURNING", "ON CONFLICT (id) DO UPDATE SET status = 'LOST' RETURNING"),
        key,
        "WAITING",
    )

    assert [e.to_state for e in Event.objects.of(Parcel.objects.get())] == ["WAITING", "LOST"]
    assert Count.objects.by_state(queue="parcel", scopes=["east"]) == {"LOST": 1}


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE lock_event SET actor = 'nobody'", "events cannot be updated"),
        ("DELETE FROM lock_event", "events cannot be deleted"),
        ("TRUNCATE lock_event", "events cannot be truncated"),
        ("DELETE FROM parcels_parcel", "rows of parcel cannot be deleted"),
        ("TRUNCATE parcels_parcel", "rows of parcel cannot be truncated"),
        ("UPDATE parcels_parcel SET id = gen_random_uuid()", "cannot change its id"),
    ],
)
def test_history_cannot_be_rewritten(sql, statement: str, sentence: str) -> None:
    Parcel.objects.create()

    with pytest.raises(IntegrityError, match=sentence), transaction.atomic():
        sql(statement)

    assert Event.objects.count() == Parcel.objects.count() == 1


FORGE = """INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, details, created_at)
    VALUES ('parcel', %s, %s, %s, %s, 'operator:ayse', '{}', now() - %s::interval)"""


@pytest.mark.parametrize(
    ("event_type", "from_state", "to_state", "age"),
    [
        ("STATE_LOST", "WAITING", "LOST", "0"),
        ("SEEN", "WAITING", "LOST", "0"),
        ("STATE_WAITING", "WAITING", "WAITING", "0"),
        ("JOB_CREATED", "WAITING", "WAITING", "0"),
        ("SITE_PAUSED", "", "", "0"),
        ("SEEN", "WAITING", "WAITING", "1 hour"),
        ("SEEN", "WAITING", "WAITING", "-1 hour"),
    ],
)
def test_moves_cannot_be_forged(sql, event_type: str, from_state: str, to_state: str, age: str) -> None:
    parcel = Parcel.objects.create()

    with (
        pytest.raises(IntegrityError, match=f"event {event_type} of parcel .* cannot be inserted"),
        transaction.atomic(),
    ):
        sql(FORGE, parcel.pk, event_type, from_state, to_state, age)

    assert [event.event_type for event in Event.objects.of(parcel)] == ["JOB_CREATED"]


def test_what_is_no_move_is_recorded_in_the_state_that_the_row_is_in() -> None:
    parcel = Parcel.objects.create()
    Parcel.objects.get().move("lose")

    Event.objects.record(parcel, "SEEN")  # as it was read, it still waits

    seen = Event.objects.of(parcel).last()
    assert (seen.event_type, seen.from_state, seen.to_state) == ("SEEN", "LOST", "LOST")


def test_nothing_is_recorded_about_a_row_that_is_gone() -> None:
    Event.objects.record(Parcel(), "SEEN")

    assert not Event.objects.exists()


def test_a_later_update_in_the_same_transaction_is_not_recorded_as_the_verb(sql) -> None:
    parcel = Parcel.objects.create().move("lose")

    sql("UPDATE parcels_parcel SET status = 'WAITING'")
    sql("UPDATE parcels_parcel SET depot = 'west'")

    verbs = [event.details.get("verb") for event in Event.objects.of(parcel)]
    assert verbs == [None, "lose", None]


def test_no_wording_of_a_reason_can_stop_a_move() -> None:
    parcel = Parcel.objects.create()

    with acting_as("operator:\x00ayse", reason="nul \x00, half \ud800, quote ' and ğüşİ"):
        parcel.move("lose")

    event = Event.objects.of(parcel).last()
    assert (event.actor, event.message) == ("operator:ayse", "nul , half ?, quote ' and ğüşİ")


def test_a_note_that_is_no_move_keeps_the_state() -> None:
    parcel = Parcel.objects.create()

    with acting_as("operator:ayse"):
        Event.objects.record(parcel, "LABEL_PRINTED", message="again", details={"copies": 2})
    Event.objects.record(parcel, "LABEL_PRINTED")

    named, unnamed = Event.objects.of(parcel).filter(event_type="LABEL_PRINTED")
    assert (named.actor, named.message, named.details) == ("operator:ayse", "again", {"copies": 2})
    assert (named.from_state, named.to_state) == ("WAITING", "WAITING")
    assert unnamed.actor == role()


def test_a_table_changed_without_a_migration_fails_the_run() -> None:
    call_command("makemigrations", check=True, dry_run=True)


def test_a_changed_table_would_be_noticed(monkeypatch) -> None:
    shorter = [trigger for trigger in Parcel._meta.triggers if trigger.name != "legal_arrow"]
    monkeypatch.setattr(Parcel._meta, "triggers", shorter)
    monkeypatch.setitem(Parcel._meta.original_attrs, "triggers", shorter)

    with pytest.raises(SystemExit):
        call_command("makemigrations", check=True, dry_run=True)


@pytest.mark.parametrize(
    ("trigger", "statement"),
    [
        ("legal_arrow", "UPDATE parcels_parcel SET status = 'DELIVERED'"),
        ("no_delete", "DELETE FROM parcels_parcel"),
        ("fixed_identity", "UPDATE parcels_parcel SET tracking_number = 'TR-2'"),
        ("counters", "UPDATE parcels_parcel SET attempt_count = 0"),
    ],
)
def test_it_is_the_trigger_that_refuses(sql, trigger: str, statement: str) -> None:
    Parcel.objects.create(tracking_number="TR-1", attempt_count=1)
    before = list(Parcel.objects.values())
    ((name,),) = sql(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = 'parcels_parcel'::regclass AND tgname LIKE %s", f"%{trigger}%"
    )
    sql("SET CONSTRAINTS ALL IMMEDIATE")
    sql(f'ALTER TABLE parcels_parcel DISABLE TRIGGER "{name}"')

    sql(statement)

    assert list(Parcel.objects.values()) != before
