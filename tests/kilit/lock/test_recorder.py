"""The recorder writes events by groups of rows that moved alike; each row still gets its own."""

from collections import Counter

import pytest

from kilit.lock.models import Count, Event
from tests.apps.parcels.models import Parcel
from tests.apps.parcels.states import State

pytestmark = pytest.mark.django_db

LOSE = """
    UPDATE parcels_parcel SET status = 'LOST', claim_token = NULL, lease_until = NULL
"""


def make_parcels() -> None:
    """Store parcels of two depots, tried never, once or twice, half of them carried: two or more of each kind."""
    for depot in ("İzmir", "Van"):
        Parcel.objects.bulk_create(Parcel(depot=depot, attempt_count=number % 3) for number in range(12))
        Parcel.objects.filter(depot=depot).claim(limit=6)


def test_each_row_of_one_statement_has_an_event_with_its_own_state_and_facts(sql) -> None:
    make_parcels()
    before = {parcel.pk: (parcel.status, parcel.attempt_count) for parcel in Parcel.objects.all()}

    sql(LOSE)

    events = Event.objects.filter(event_type="STATE_LOST")
    assert len(events) == len(before)
    found = {event.object_id: (event.from_state, event.details["attempt_count"]) for event in events}
    assert found == before
    assert {event.to_state for event in events} == {State.LOST}


def test_the_counts_of_one_statement_over_several_groups_add_up(sql) -> None:
    make_parcels()

    sql(LOSE)

    totals = {(total.scope, total.state): (total.now, total.entered) for total in Count.objects.totals(queue="parcel")}
    assert totals == {
        (depot, state): counts
        for depot in ("İzmir", "Van")
        for state, counts in {State.WAITING: (0, 12), State.CARRIED: (0, 6), State.LOST: (12, 12)}.items()
    }


def test_new_rows_have_an_event_each() -> None:
    make_parcels()

    created = Event.objects.filter(queue="parcel", event_type="JOB_CREATED").values_list("object_id", flat=True)
    assert Counter(created) == dict.fromkeys(Parcel.objects.values_list("pk", flat=True), 1)


def test_facts_without_a_value_are_left_out_of_the_event(sql) -> None:
    """Empty ones are one group with each other, and not with others."""
    sql("ALTER TABLE parcels_parcel ALTER attempt_count DROP NOT NULL")
    Parcel.objects.bulk_create(Parcel(depot="Van") for _ in range(2))
    Parcel.objects.bulk_create(Parcel(depot="Muş", attempt_count=1) for _ in range(2))

    sql("UPDATE parcels_parcel SET status = 'LOST', attempt_count = CASE depot WHEN 'Muş' THEN 1 END")

    details = Event.objects.filter(event_type="STATE_LOST").values_list("details", flat=True)
    assert sorted(map(str, details)) == ["{'attempt_count': 1}"] * 2 + ["{}"] * 2
