"""The guard: a move is one conditional UPDATE, and the row count is the answer."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kilit.lock.guard import MoveRefused
from kilit.lock.leases import new_lease
from kilit.lock.models import Event
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def test_bulk_moves_only_what_the_verb_applies_to() -> None:
    waiting, lost = Parcel.objects.create(), Parcel.objects.create().move("lose")

    moved = Parcel.objects.move("lose")

    assert moved == 1
    assert Event.objects.of(waiting).last().to_state == "LOST"
    assert Event.objects.of(lost).count() == 2


def test_a_refusal_names_object_verb_and_true_state() -> None:
    parcel = Parcel.objects.create()
    Parcel.objects.move("lose")

    with pytest.raises(MoveRefused, match=f"parcel {parcel.pk} cannot deliver: it is LOST"):
        parcel.deliver()

    assert parcel.status == "LOST"


def test_a_swept_worker_cannot_finish_the_next_ones_claim() -> None:
    Parcel.objects.create()
    (mine,) = Parcel.objects.claim(limit=1)
    Parcel.objects.update(lease_until="2020-01-01T00:00Z")
    Parcel.objects.recover()
    (theirs,) = Parcel.objects.claim(limit=1)

    with pytest.raises(MoveRefused, match="it is CARRIED, under another claim"):
        mine.deliver()

    assert theirs.deliver().status == "DELIVERED"
    assert theirs.attempt_count == 2


def test_a_lease_that_has_not_lapsed_is_kept() -> None:
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)

    assert Parcel.objects.recover() == 0


def test_take_returns_exactly_the_rows_it_moved_oldest_first() -> None:
    oldest, second, _ = (Parcel.objects.create() for _ in range(3))

    taken = Parcel.objects.claim(limit=2)

    assert [parcel.pk for parcel in taken] == [oldest.pk, second.pk]
    assert {parcel.status for parcel in taken} == {"CARRIED"}
    assert [parcel.pk for parcel in Parcel.objects.filter(status="CARRIED").order_by("id")] == [
        oldest.pk,
        second.pk,
    ]


def test_a_stale_instance_does_not_write_its_old_state() -> None:
    parcel = Parcel.objects.create()
    Parcel.objects.move("claim", **new_lease(timedelta(seconds=5)))
    parcel.depot = "north"

    parcel.save(update_fields=["depot"])

    assert Parcel.objects.get().status == "CARRIED"
    assert Parcel.objects.get().depot == "north"


def test_a_whole_instance_cannot_be_saved_because_it_may_be_stale() -> None:
    parcel = Parcel.objects.create()
    Parcel.objects.claim(limit=1)

    with pytest.raises(TypeError, match="name the columns"):
        parcel.save()

    assert Parcel.objects.get().attempt_count == 1


@pytest.mark.parametrize(
    ("move_nothing", "result"),
    [
        (lambda: Parcel.objects.filter(pk__in=[]).move_each("lose"), set()),
        (lambda: Parcel.objects.filter(pk__in=[]).move("lose"), 0),
        (lambda: Parcel.objects.none().claim(limit=1), []),
    ],
)
def test_a_verb_without_rows_moves_nothing_and_does_not_name_the_next_statement(move_nothing, result) -> None:
    parcel = Parcel.objects.create()

    assert move_nothing() == result
    Parcel.objects.update(depot="north")

    assert Event.objects.of(parcel).count() == 1


def test_the_state_is_written_only_by_a_verb() -> None:
    parcel = Parcel.objects.create()

    with pytest.raises(TypeError, match="moved by a verb"):
        Parcel.objects.update(status="LOST")
    with pytest.raises(TypeError, match="moved by a verb"):
        Parcel.objects.bulk_update([parcel], ["status"])
    with pytest.raises(TypeError, match="moved by a verb"):
        parcel.save(update_fields=["status"])
    with pytest.raises(TypeError, match="moved by a verb"):
        parcel.move("lose", status="DELIVERED")


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_ten_thousand_rows_move_in_as_many_statements_as_ten() -> None:
    def statements(rows: int) -> int:
        Parcel.objects.bulk_create(Parcel(depot=str(rows)) for _ in range(rows))
        with CaptureQueriesContext(connection) as captured:
            assert Parcel.objects.filter(depot=str(rows)).move("lose") == rows
        return len(captured)

    assert statements(10) == statements(10_000)
    assert Event.objects.filter(event_type="STATE_LOST").count() == 10_010


def test_move_each_returns_the_rows_that_moved() -> None:
    waiting, lost = Parcel.objects.create(), Parcel.objects.create().move("lose")

    moved = Parcel.objects.filter(pk__in=[waiting.pk, lost.pk]).move_each("lose")

    assert moved == {waiting.pk}
