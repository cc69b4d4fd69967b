"""Columns that the database guards beside the state: what identifies a row, and what counts."""

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from kilit.lock.guard import LifecycleModel
from tests.apps.parcels.models import Parcel
from tests.support.guarded_columns import counters, fixed_columns

QUEUES = [model for model in apps.get_models() if issubclass(model, LifecycleModel)]
FIXED = {
    "conversion": ["site_id", "action", "source_key", "order_id"],
    "adjustment": [
        "site_id",
        "original_id",
        "kind",
        "action",
        "order_id",
        "value",
        "currency",
        "adjusted_at",
        "source_key",
    ],
    "circuit": ["site_id", "action"],
    "pdf": ["owner_id", "job_key", "template_name"],
    "cutting_job": ["order_id", "revision", "opti_mode", "payload_hash"],
    "message": ["endpoint_id", "channel_id", "url", "kind", "scope", "event_id", "object_id"],
    "bulk_action": ["queue", "action", "asked_by_id"],  # and, except while erasing, its options and filters
    "problem": ["reader_id", "key"],
    "parcel": ["tracking_number"],
}
COUNTERS = {
    "conversion": ["attempt_count"],
    "adjustment": ["attempt_count"],
    "message": ["attempt_count", "attempts_forgiven"],
    "pdf": ["retry_count"],
    "cutting_job": ["retry_count"],
    "bulk_action": ["done_count", "moved_count"],
    "parcel": ["attempt_count"],
}

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", QUEUES, ids=lambda model: model.lifecycle.queue)
def test_every_queue_names_what_identifies_a_row(model: type[LifecycleModel]) -> None:
    assert fixed_columns(model), "name it: lifecycle_triggers(…, fixed=[…])"


def test_no_guard_is_taken_away() -> None:
    fixed = {model.lifecycle.queue: fixed_columns(model) for model in QUEUES}
    counting = {model.lifecycle.queue: counters(model) for model in QUEUES}

    assert fixed | FIXED == fixed
    assert counting | COUNTERS == counting


@pytest.mark.parametrize("model", QUEUES, ids=lambda model: model.lifecycle.queue)
def test_no_counter_can_be_emptied(model: type[LifecycleModel]) -> None:
    # NULL is not less than a number, so the guard would let it pass.
    assert not [column for column in counters(model) if model._meta.get_field(column).null]


def test_one_bad_row_refuses_the_whole_statement(sql) -> None:
    low, high = Parcel.objects.create(attempt_count=1), Parcel.objects.create(attempt_count=3)

    refusal = f"parcel {high.pk} cannot change its attempt_count from 3 to 1"
    with pytest.raises(IntegrityError, match=refusal), transaction.atomic():
        sql("UPDATE parcels_parcel SET attempt_count = 1")

    assert dict(Parcel.objects.values_list("pk", "attempt_count")) == {low.pk: 1, high.pk: 3}


@pytest.mark.parametrize(
    "changes",
    [
        "attempt_count = attempt_count + 1",
        "attempt_count = 99",
        "status = 'LOST', attempt_count = attempt_count + 1",
        "status = 'CARRIED', claim_token = gen_random_uuid(), lease_until = now(), attempt_count = attempt_count + 2",
    ],
    ids=["by itself", "at once", "at another move", "by two"],
)
def test_only_a_claim_raises_the_attempts_and_by_one(sql, changes: str) -> None:
    parcel = Parcel.objects.create()

    with pytest.raises(IntegrityError, match=f"parcel {parcel.pk} cannot change its attempt_count"):
        sql(f"UPDATE parcels_parcel SET {changes}")


def test_a_claim_in_psql_raises_the_attempts(sql) -> None:
    Parcel.objects.create()

    sql(
        "UPDATE parcels_parcel SET status = 'CARRIED', claim_token = gen_random_uuid(), lease_until = now(),"
        " attempt_count = attempt_count + 1"
    )

    assert Parcel.objects.get().attempt_count == 1


def test_an_upsert_cannot_change_it_either(sql) -> None:
    parcel = Parcel.objects.create(tracking_number="TR-1")
    upsert = (
        "INSERT INTO parcels_parcel (id, status, depot, attempt_count, work, tracking_number)"
        " VALUES (%s, 'WAITING', '', 0, 0, %s)"
        " ON CONFLICT (id) DO UPDATE SET tracking_number = excluded.tracking_number"
    )

    with (
        pytest.raises(IntegrityError, match=f"parcel {parcel.pk} cannot change its tracking_number"),
        transaction.atomic(),
    ):
        sql(upsert, parcel.pk, "TR-2")
    sql(upsert, parcel.pk, "TR-1")

    assert Parcel.objects.get().tracking_number == "TR-1"


def test_a_refusal_has_a_hint() -> None:
    Parcel.objects.create(attempt_count=1)

    for changes, hint in {"tracking_number": "Create another row instead", "attempt_count": "It counts"}.items():
        with pytest.raises(IntegrityError, match=hint), transaction.atomic():
            Parcel.objects.update(**{changes: 0})


def test_a_legal_update_calls_neither_guard(sql) -> None:
    Parcel.objects.bulk_create(Parcel(tracking_number=f"TR-{number}") for number in range(3))

    plan = sql(
        "EXPLAIN (ANALYZE) UPDATE parcels_parcel SET status = 'CARRIED', attempt_count = attempt_count + 1,"
        " claim_token = gen_random_uuid(), lease_until = now(), tracking_number = tracking_number"
    )

    called = [line for (line,) in plan if line.startswith("Trigger")]
    assert [line.split()[1].rsplit("_", 1)[0] for line in called] == [
        "pgtrigger_record_errors",
        "pgtrigger_record_move",
    ]
