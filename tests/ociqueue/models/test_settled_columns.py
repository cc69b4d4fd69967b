"""What Google has been sent does not change afterwards, also in psql, not even by an erasure, which only empties."""

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from kilit.lock.triggers import erasing
from ociqueue.models import Conversion
from tests.support.conversions import make_completed

pytestmark = pytest.mark.django_db

CHANGES = {
    "value": "999",
    "currency": "'EUR'",
    "conversion_time": "now()",
    "gclid": "'another'",
    **dict.fromkeys(("hashed_email", "hashed_phone"), "repeat('a', 64)"),
}


@pytest.fixture
def completed(site) -> Conversion:
    return make_completed(site, gclid="Cj0KCQ-own", value=10)


def raw(statement: str) -> None:
    """Run SQL on the connection of psycopg itself, as psql would."""
    with transaction.atomic():
        cursor: psycopg.Cursor = connection.connection.cursor()
        cursor.execute(statement)


@pytest.mark.parametrize("column", CHANGES)
def test_what_google_was_sent_cannot_be_changed_in_psql(completed, column: str) -> None:
    with pytest.raises(
        (IntegrityError, psycopg.errors.CheckViolation), match=f"is COMPLETED and cannot change its {column}"
    ):
        raw(f"UPDATE offline_conversion_queue SET {column} = {CHANGES[column]}")

    completed.refresh_from_db()
    assert (completed.value, completed.gclid) == (10, "Cj0KCQ-own")


@pytest.mark.parametrize("changes", ["gclid = ''", "gclid = '', erased_at = now()", "gclid = '', gbraid = 'other'"])
def test_a_click_id_is_not_emptied_unseen(completed, changes: str) -> None:
    with pytest.raises((IntegrityError, psycopg.errors.CheckViolation), match="cannot change its gclid"):
        raw(f"UPDATE offline_conversion_queue SET {changes}")


def test_not_even_an_erasure_writes_another_one(completed) -> None:
    with pytest.raises(IntegrityError, match="cannot change its gclid"), transaction.atomic(), erasing():
        Conversion.objects.update(gclid="another", erased_at=Now())


def test_a_row_that_waits_is_not_settled(site, make_conversion) -> None:
    make_conversion(site)

    assert Conversion.objects.update(value=11) == 1
    with pytest.raises(IntegrityError, match="cannot change its attempt_count from 0 to 1"), transaction.atomic():
        Conversion.objects.update(attempt_count=1)


def test_attempts_are_raised_in_psql_by_a_claim_only(completed) -> None:
    for changes in ("attempt_count = 5", "attempt_count = 0", "attempt_count = attempt_count + 1"):
        with pytest.raises((IntegrityError, psycopg.errors.CheckViolation), match="cannot change its attempt_count"):
            raw(f"UPDATE offline_conversion_queue SET {changes}")

    completed.refresh_from_db()
    assert completed.attempt_count == 1
