"""The keys of conversions: written once with their row, by whatever statement, and never apart from it."""

import pytest
from django.db import IntegrityError, transaction

from kilit.lock.triggers import erasing
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Conversion, ConversionKey
from ociqueue.models.key import KEYS
from tests.support.conversions import YESTERDAY, new_conversion

pytestmark = pytest.mark.django_db

COLUMNS = ", ".join(KEYS.columns)
EXPECTED = f"SELECT {', '.join(KEYS.values_of('c').values())} FROM offline_conversion_queue c ORDER BY id"
STORED = f"SELECT {COLUMNS} FROM ociqueue_conversionkey ORDER BY id"
HASH = "a" * 64


def sent(key: str, **others: str) -> dict[str, object]:
    common = {"conversionName": "Satış", "conversionTime": YESTERDAY, "conversionValue": 12, "gclid": f"click-{key}"}
    return {**common, "sourceKey": key, **others}


@pytest.fixture
def rows(site) -> list[Conversion]:
    enqueue(site, [sent("one"), sent("two")])
    hashed = {"gclid": "", "hashed_email": HASH, "hashed_phone": HASH}
    return Conversion.objects.bulk_create(
        [new_conversion(site, wbraid="w", source_key="three"), new_conversion(site, **hashed)]
    )


def test_every_row_has_its_key(rows, sql) -> None:
    sql(
        "INSERT INTO offline_conversion_queue SELECT (copy).* FROM ("
        '  SELECT jsonb_populate_record(c, \'{"id": "00000000-0000-7000-8000-000000000001", "source_key": "raw"}\')'
        "    AS copy FROM (SELECT c, to_jsonb(c) FROM offline_conversion_queue c WHERE source_key = 'one') AS c(c)"
        ") AS copies"
    )

    assert sql(STORED) == sql(EXPECTED)
    assert ConversionKey.objects.count() == 5
    assert set(ConversionKey.objects.values_list("source_key", flat=True)) == {"one", "two", "three", "raw", None}


def test_a_move_writes_no_key(rows, site, sql) -> None:
    where = "SELECT ctid::text, xmin::text FROM ociqueue_conversionkey ORDER BY id"
    before = sql(where)

    claimed = site.conversions.claim(limit=10)
    site.conversions.filter(pk__any_of=[row.pk for row in claimed]).move("ack")

    assert len(claimed) == 4
    assert sql(where) == before


def test_a_move_writes_few_indexes(sql) -> None:
    """Each index without a condition is written by every move: those that stay grow at one end, or have few values."""
    found = sql(
        "SELECT indexrelid::regclass::text FROM pg_index"
        " WHERE indrelid = 'offline_conversion_queue'::regclass AND indpred IS NULL"
    )

    assert {name for (name,) in found} == {
        "offline_conversion_queue_pkey",
        "conversion_of_site",
    }


def test_a_second_row_with_a_key_is_refused_to_any_statement(rows, site, sql) -> None:
    with pytest.raises(IntegrityError, match="one_key_per_source_key"), transaction.atomic():
        Conversion.objects.bulk_create([new_conversion(site, source_key="one")])

    assert [result["status"] for result in enqueue(site, [sent("one"), sent("new"), sent("new")])] == [
        "duplicate",
        "created",
        "duplicate",
    ]
    assert sql(STORED) == sql(EXPECTED)


def test_the_same_key_belongs_to_each_site_and_name(rows, make_site) -> None:
    other = make_site()

    results = [*enqueue(other, [sent("one")]), *enqueue(rows[0].site, [sent("one", conversionName="Lead")])]

    assert [result["status"] for result in results] == ["created", "created"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ociqueue_conversionkey SET source_key = 'other'",
        "UPDATE ociqueue_conversionkey SET click_id = ''",
        "DELETE FROM ociqueue_conversionkey",
        "TRUNCATE ociqueue_conversionkey",
    ],
)
def test_no_key_is_changed_by_hand(rows, sql, statement: str) -> None:
    with pytest.raises(IntegrityError, match="keys of conversions cannot be"), transaction.atomic():
        sql(statement)

    assert sql(STORED) == sql(EXPECTED)


@pytest.mark.parametrize("column", ["id", "order_id", "source_key", "click_id"])
def test_no_key_is_inserted_that_is_not_of_its_conversion(rows, sql, column: str) -> None:
    """A key that is missing may be written, and no other."""
    others = {"id": "gen_random_uuid()", "source_key": "k.source_key || 'x'"}
    values = {name: others.get(name, "'other'") if name == column else f"k.{name}" for name in KEYS.columns}
    insert = f"INSERT INTO ociqueue_conversionkey ({COLUMNS}) SELECT {{}} FROM lost k"
    sql("CREATE TEMP TABLE lost ON COMMIT DROP AS TABLE ociqueue_conversionkey")
    sql(
        "SET LOCAL session_replication_role = replica; DELETE FROM ociqueue_conversionkey;"
        " SET LOCAL session_replication_role = DEFAULT"
    )

    with pytest.raises(IntegrityError, match="not the one of its conversion"), transaction.atomic():
        sql(insert.format(", ".join(values.values())))

    sql(insert.format(COLUMNS))
    assert sql(STORED) == sql(EXPECTED)


def test_an_erasure_takes_the_click_id_and_hashes_from_the_keys(rows, site, sql) -> None:
    site.conversions.claim(limit=10)
    site.conversions.move("ack")

    empty = "gclid = '', wbraid = '', hashed_email = '', hashed_phone = '', erased_at = now()"
    with erasing():
        sql(f"UPDATE offline_conversion_queue SET {empty}")

    assert sql(STORED) == sql(EXPECTED)
    assert set(ConversionKey.objects.values_list("click_id", "hashed_email", "hashed_phone")) == {("", "", "")}


def test_a_pruned_row_takes_its_key_with_it(rows, site, sql) -> None:
    site.conversions.claim(limit=10)
    site.conversions.exclude(source_key="one").move("ack")
    sql("UPDATE offline_conversion_queue SET updated_at = now() - interval '40 days' WHERE source_key = 'two'")
    sql("SELECT set_config('kilit.prune_before', (now() - interval '30 days')::text, true)")

    sql("DELETE FROM offline_conversion_queue WHERE source_key = 'two'")

    assert sql(STORED) == sql(EXPECTED)
    assert ConversionKey.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_with_the_same_keys_each_key_is_stored_once(site, in_threads, sql) -> None:
    """Some send them all, some in another order, and some insert rows without asking for keys."""
    keys = [f"key-{number}" for number in range(40)]

    def send(number: int) -> list[str]:
        return [
            result["status"] for key in (keys, keys[::-1])[number % 2 :] for result in enqueue(site, [*map(sent, key)])
        ]

    def insert(key: str) -> list[str]:
        with transaction.atomic():
            Conversion.objects.bulk_create([new_conversion(site, source_key=key)])
        return ["created"]

    def work(number: int) -> list[str]:
        if number < 6:
            return send(number)
        try:
            return insert(keys[number])
        except IntegrityError:
            return []

    results = [status for results in in_threads(work, count=8) for status in results]

    assert results.count("created") == len(keys)
    assert set(results) == {"created", "duplicate"}
    assert sql(STORED) == sql(EXPECTED)
