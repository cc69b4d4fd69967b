"""Failures that look alike are one group, counted exactly and without counting rows."""

from collections import Counter
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from kilit.lock import sweeps
from kilit.lock.models import ErrorDelta, ErrorGroup, ErrorHour
from tests.apps.parcels.models import FAILURES, Parcel
from tests.support.examples import few

pytestmark = pytest.mark.django_db

ALIKE = {
    "Order 123 is unknown": ("Order 9 is unknown", "Order # is unknown"),
    "Timeout 30000ms exceeded.": ("Timeout 1200000ms exceeded.", "Timeout #ms exceeded."),
    "took 1.5 s of 2,000": ("took 12 s of 3", "took # s of #"),
    'Column "Kalınlık" is missing': ('Column "x y" is missing', "Column … is missing"),
    "Sheet 'A' can't be read": ("Sheet 'Parça 2' can't be read", "Sheet … can't be read"),
    "“Satış” is paused": ("“Teklif” is paused", "… is paused"),
    "seal 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is gone": (
        "seal 11111111-2222-7333-8444-555555555555 is gone",
        "seal <id> is gone",
    ),
    "The click Cj0KCQ-x9Pq_1 is too old": ("The click EAIaIQobChMI-77 is too old", "The click <id> is too old"),
    "mail to ayse@example.com failed": ("mail to mehmet.can@example.org failed", "mail to <address> failed"),
    "GET https://a.example/1?x=2 failed": ("GET https://b.example/ failed", "GET <address> failed"),
    "at 2026-11-15 07:36:08 it broke": ("at 2025-01-02 23:59:59 it broke", "at # # it broke"),
    "line one\n\n  line two": ("line one line two", "line one line two"),
    "müşteri 5 yok": ("müşteri 77 yok", "müşteri # yok"),
}
DIFFERENT = [
    ("The saw refused the file", "The saw did not answer"),
    ("Edge A unknown", "Edge B unknown"),
    ("UNAUTHENTICATED", "PERMISSION_DENIED"),
    ("it can't be, and won't be", "it can't be, or won't be"),
]


def lose(*parcels: Parcel, code: str = "E_LOST", message: str = "Parcel 5 fell off") -> None:
    chosen = Parcel.objects.filter(pk__in=[parcel.pk for parcel in parcels])
    assert chosen.move("lose", error_code=code, error_message=message) == len(parcels)


def shape(sql: Any, message: str) -> str:
    ((shape,),) = sql("SELECT lock_error_shape(%s)", message)
    return shape


def counted() -> dict[tuple[str, str, str], int]:
    """Count the rows of each group, which would be too slow with a million of them."""
    rows = Parcel.objects.filter(FAILURES.condition).values_list("depot", "status", "error_group")
    return dict(Counter(rows))


def rolled_up() -> dict[tuple[str, str, str], int]:
    found: dict[tuple[str, str, str], int] = {}
    for depot in Parcel.objects.values_list("depot", flat=True).distinct().order_by():
        for group in ErrorGroup.objects.largest(queue="parcel", scopes=[depot]):
            found |= {(depot, state, group.name): number for state, number in group.states.items()}
    return found


@pytest.mark.parametrize("message", ALIKE)
def test_numbers_ids_and_quoted_parts_do_not_matter(sql, message: str) -> None:
    other, expected = ALIKE[message]

    assert shape(sql, message) == expected
    assert shape(sql, other) == expected


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_message_is_another_group(sql, one: str, other: str) -> None:
    assert shape(sql, one) != shape(sql, other)


@few(100)
@given(message=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=600))
def test_any_text_has_a_short_shape_without_digits(message: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT lock_error_shape(%s)", [message])
        (shape,) = cursor.fetchone()

    assert len(shape) <= 200
    assert not set(shape) & set("0123456789")


def test_alike_failures_are_one_group_with_when_it_was_seen() -> None:
    one, other, third = (Parcel.objects.create() for _ in range(3))

    lose(one, message="Parcel 5 fell off")
    lose(other, message="Parcel 77 fell off")
    lose(third, message="Parcel 5 burnt")

    fell, burnt = ErrorGroup.objects.largest(queue="parcel")
    assert (fell.code, fell.shape, fell.total, fell.states) == ("E_LOST", "Parcel # fell off", 2, {"LOST": 2})
    assert (burnt.shape, burnt.total) == ("Parcel # burnt", 1)
    assert fell.first_at <= fell.last_at
    one.refresh_from_db()
    assert one.error_group == fell.name


def test_the_same_message_with_another_code_is_another_group() -> None:
    one, other = Parcel.objects.create(), Parcel.objects.create()

    lose(one, code="E_A")
    lose(other, code="E_B")

    assert {group.code for group in ErrorGroup.objects.largest(queue="parcel")} == {"E_A", "E_B"}


def test_a_row_that_is_moved_on_leaves_its_group_though_it_keeps_its_error() -> None:
    parcel = Parcel.objects.create()
    lose(parcel)

    parcel.refresh_from_db()
    parcel.move("resend")

    assert parcel.error_code == "E_LOST"
    assert ErrorGroup.objects.largest(queue="parcel") == []


def test_raw_sql_cannot_set_a_wrong_group(sql) -> None:
    parcel = Parcel.objects.create()
    lose(parcel)
    ((group,),) = sql("SELECT error_group FROM parcels_parcel")

    sql("UPDATE parcels_parcel SET error_group = 'nonsense'")
    assert sql("SELECT error_group FROM parcels_parcel") == [(group,)]
    sql("UPDATE parcels_parcel SET error_message = 'Parcel 5 burnt'")

    assert counted() == rolled_up() != {}
    assert sql("SELECT error_group FROM parcels_parcel") != [(group,)]


def test_scopes_narrow_the_groups() -> None:
    lose(Parcel.objects.create(depot="north"))
    lose(Parcel.objects.create(depot="south"))

    assert [group.total for group in ErrorGroup.objects.largest(queue="parcel")] == [2]
    assert [group.total for group in ErrorGroup.objects.largest(queue="parcel", scopes=["north"])] == [1]
    assert ErrorGroup.objects.largest(queue="parcel", scopes=[]) == []


def test_a_fold_changes_nothing_that_is_read(sql) -> None:
    parcels = [Parcel.objects.create() for _ in range(3)]
    lose(*parcels[:2])
    sql("UPDATE lock_errordelta SET created_at = now()")  # an hour may have begun since this transaction did
    before = ErrorGroup.objects.largest(queue="parcel")
    trend = ErrorGroup.objects.trend([before[0].name], queue="parcel")

    assert sweeps.fold_errors() == "Folded 1."

    assert ErrorDelta.objects.count() == 0
    assert ErrorGroup.objects.largest(queue="parcel") == before
    assert ErrorGroup.objects.trend([before[0].name], queue="parcel") == trend
    assert trend[before[0].name] == [0] * 23 + [2]
    lose(parcels[2])
    sql("UPDATE lock_errordelta SET created_at = now()")
    assert ErrorGroup.objects.trend([before[0].name], queue="parcel")[before[0].name][-1] == 3


def test_old_empty_groups_are_deleted_and_groups_with_rows_are_not(sql) -> None:
    kept, empty = Parcel.objects.create(), Parcel.objects.create()
    lose(kept, message="kept")
    lose(empty, message="empty")
    empty.refresh_from_db()
    empty.move("resend")
    ErrorGroup.objects.fold()
    sql("UPDATE lock_errorgroup SET changed_at = now() - interval '31 days'")
    sql("UPDATE lock_errorhour SET hour = now() - interval '9 days'")
    lose(Parcel.objects.create(), message="kept")

    sweeps.fold_errors()

    assert [group.shape for group in ErrorGroup.objects.all()] == ["kept"]
    assert ErrorHour.objects.count() == 1, "that of the last one"


def test_a_healthy_move_writes_nothing_to_the_groups() -> None:
    parcel = Parcel.objects.create()
    (claimed,) = Parcel.objects.claim(limit=1)
    claimed.deliver()

    assert ErrorDelta.objects.count() == 0
    parcel.refresh_from_db()
    assert parcel.error_group == ""


def test_a_thousand_failures_are_one_change_in_one_statement() -> None:
    parcels = Parcel.objects.bulk_create(Parcel() for _ in range(1000))

    with CaptureQueriesContext(connection) as asked:
        lose(*parcels)
        (group,) = ErrorGroup.objects.largest(queue="parcel")

    assert group.total == 1000
    assert ErrorDelta.objects.count() == 1
    assert len([query for query in asked if "UPDATE" in query["sql"]]) == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["lose", "resend", "claim", "recover", "rewrite", "move depot", "fold", "undone"]),
        st.integers(0, 4),
        st.sampled_from(["E_A", "E_B"]),
        st.sampled_from(["Parcel 1 fell", "Parcel 2 fell", "burnt", ""]),
        st.sampled_from(["north", "south"]),
    ),
    max_size=25,
)


@few(60)
@given(steps=STEPS)
def test_the_roll_up_equals_a_plain_count_after_any_walk(steps: list[Any]) -> None:
    with transaction.atomic():
        parcels = [Parcel.objects.create(depot="north") for _ in range(5)]
        for step, number, code, message, depot in steps:
            rows = Parcel.objects.filter(pk__in=[parcel.pk for parcel in parcels[: number + 1]])
            match step:
                case "lose":
                    rows.move("lose", error_code=code, error_message=message, claim_token=None, lease_until=None)
                case "resend":
                    rows.move("resend")
                case "claim":
                    rows.claim(limit=5)
                case "recover":
                    rows.move("recover", claim_token=None, lease_until=None)
                case "rewrite":
                    rows.update(error_code=code, error_message=message)
                case "move depot":
                    rows.update(depot=depot)
                case "fold":
                    ErrorGroup.objects.fold()
                case "undone":
                    with transaction.atomic():
                        rows.move("lose", error_code=code, error_message=message, claim_token=None, lease_until=None)
                        transaction.set_rollback(True)
        assert rolled_up() == counted()
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_racing_moves_and_folds_lose_no_count(in_threads) -> None:
    """Two folders, and moves both ways in bulk over the same rows: nothing deadlocks, and the sums are exact."""
    Parcel.objects.bulk_create(Parcel(depot=("north", "south")[number % 2]) for number in range(40))

    def work(number: int) -> None:
        for _ in range(10):
            if number == 0:
                ErrorGroup.objects.fold()
            elif number % 2:
                Parcel.objects.all().move_each("lose", error_code="E", error_message=f"row {number}")
            else:
                Parcel.objects.all().move_each("resend")

    in_threads(work, count=6)

    assert rolled_up() == counted()
    ErrorGroup.objects.fold()
    assert rolled_up() == counted()
