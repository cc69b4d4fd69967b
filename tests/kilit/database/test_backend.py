"""What the database backend says of its errors: read-only, of unknown outcome, or certainly nothing stored."""

from collections.abc import Callable, Iterable

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from kilit.lock.outages import CommitUnknown, ReadOnlyDatabase
from kilit.postgres import collation
from tests.apps.parcels.models import Parcel
from tests.support.cut_commits import Cut, CuttingProxy

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("cut", "stored"), [("request", 0), ("answer", 1), ("session", 1)])
def test_a_connection_cut_during_commit_leaves_it_open_what_was_stored(
    proxy: CuttingProxy, cut: Cut, stored: int
) -> None:
    proxy.cut = cut
    with pytest.raises(CommitUnknown), transaction.atomic():
        Parcel.objects.create(depot="east")

    assert (Parcel.objects.count(), proxy.cuts) == (stored, 1)


@pytest.mark.parametrize(("cut", "stored"), [("request", 0), ("answer", 1)])
def test_a_statement_outside_a_transaction_commits_by_itself(proxy: CuttingProxy, cut: Cut, stored: int) -> None:
    Parcel.objects.create(depot="east")
    proxy.cut, proxy.words = cut, b"UPDATE"

    with pytest.raises(CommitUnknown):
        Parcel.objects.update(depot="west")
    connection.close()

    assert Parcel.objects.filter(depot="west").count() == stored


def test_a_connection_cut_before_the_commit_stored_nothing(proxy: CuttingProxy) -> None:
    proxy.cut, proxy.words = "answer", b"parcels_parcel"
    with pytest.raises(OperationalError) as inside, transaction.atomic():
        Parcel.objects.create(depot="east")
    proxy.cut = "answer"
    with pytest.raises(OperationalError) as reading:
        Parcel.objects.exists()
    connection.close()

    assert {type(inside.value), type(reading.value)} == {OperationalError}
    assert not Parcel.objects.exists()


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (b"FETCH", Parcel.objects.iterator),
        (b"CLOSE", Parcel.objects.iterator),
        (b"pg_collation", lambda: Parcel.objects.order_by(collation.NameOrder("depot"))),
    ],
)
def test_a_connection_cut_while_rows_are_read_in_parts_or_by_name_is_an_error_of_the_database(
    proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch, words: bytes, read: Callable[[], Iterable[Parcel]]
) -> None:
    monkeypatch.setattr(collation, "_with_icu", {})
    Parcel.objects.create(depot="east")
    proxy.cut, proxy.words = "answer", words

    with pytest.raises(OperationalError):
        list(read())
    connection.close()

    assert proxy.cuts == 1


def test_a_commit_that_the_server_refuses_is_known_to_be_rolled_back() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")

    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO late VALUES (1), (1)")


def test_a_read_only_connection_is_closed_so_that_the_next_may_find_the_primary() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")

    with pytest.raises(ReadOnlyDatabase), transaction.atomic():
        Parcel.objects.create(depot="east")

    Parcel.objects.create(depot="west")
    assert Parcel.objects.get().depot == "west"
