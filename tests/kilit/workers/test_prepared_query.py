"""A supervisor's query is planned once while nothing happens, and always sees what is committed now."""

import pytest
from django.db import connection

from kilit.workers.due_rows import PreparedQuery, any_exists, exists_query
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


def due_parcels() -> PreparedQuery:
    return PreparedQuery(exists_query({"parcels": any_exists(lambda: [Parcel.objects.filter(status="WAITING")])}))


def plans() -> list[int]:
    """Return how often each statement that this connection keeps was run by its one plan."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT generic_plans FROM pg_prepared_statements WHERE custom_plans = 0")
        return [number for (number,) in cursor.fetchall()]


@pytest.fixture(autouse=True)
def _own_connection() -> None:
    connection.close()


def test_it_is_planned_once_and_answered_each_time() -> None:
    look = due_parcels()
    assert [look.run(is_busy=False) for _ in range(3)] == [set(), set(), set()]

    Parcel.objects.create()

    assert look.run(is_busy=False) == {"parcels"}
    assert plans() == [4]


def test_a_plan_does_not_outlive_a_busy_time() -> None:
    look = due_parcels()
    look.run(is_busy=False)
    Parcel.objects.create()

    assert look.run(is_busy=True) == {"parcels"}
    assert plans() == []

    assert look.run(is_busy=False) == {"parcels"}
    assert plans() == [1]


def test_it_is_planned_again_on_a_new_connection() -> None:
    look = due_parcels()
    look.run(is_busy=False)
    connection.close()

    assert look.run(is_busy=False) == set()
    assert plans() == [1]


def test_behind_a_pooler_nothing_is_kept(monkeypatch) -> None:
    monkeypatch.setattr(connection, "is_pooled", lambda: True)
    Parcel.objects.create()

    assert due_parcels().run(is_busy=False) == {"parcels"}
    assert plans() == []
