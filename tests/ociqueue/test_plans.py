"""Query plans at a million rows: what runs all day never walks the finished ones."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from kilit.api.cursor import decode_cursor
from kilit.csv.index import MemoryIndex
from kilit.csv.reader import CsvLine
from kilit.lock.identity import uuid7
from ociqueue.files.exports import read_batches
from ociqueue.files.keys import LineKeys
from ociqueue.intake.adjustments import find_originals
from ociqueue.intake.enqueue import known_ids
from ociqueue.models import Adjustment, Conversion, Credentials, IdentifierKind, Site
from ociqueue.models.statements import claim_values
from ociqueue.operating import erasure, presenters
from ociqueue.operating.erasure import Person
from ociqueue.operating.filters import ADJUSTMENT_FILTERS, FILTERS
from ociqueue.operating.lookups import look_up
from ociqueue.operating.metrics import oldest_waiting
from ociqueue.operating.senders import unsettled_rows
from ociqueue.reconcile.run import OurDays
from ociqueue.schemas.adjustments import NewAdjustment
from ociqueue.schemas.lookups import Lookup
from ociqueue.uploader.upload_run import due_sites
from tests.support.bulk_actions import user_of
from tests.support.bulk_plans import check_bulk_actions
from tests.support.crowded_conversions import (  # a fixture, too
    FILL,
    KEYS,
    PAGES_PER_MOVE,
    TABLE,
    WAITING,
    crowded,  # noqa: F401
)
from tests.support.plans import blocks, crowding, explained, plans, rows_read, statements, walked

BURST = 20_000
DAY = timedelta(days=1)
LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)
BATCH = 1000
# Pages that statements may read; the table has 22,700. Half as much again as was measured, or a little more.
MOST_OF_ALL = 300
MOST = {
    "keys of CSV lines": 6 * BATCH,  # before PostgreSQL 17, each key of a list is looked up by itself
    "keys of a request": 6 * BATCH,
    "adjusted rows": 6 * BATCH,
    "adjusted rows by key": 6 * BATCH,
    "lookups by source key": 6 * BATCH,
    "lookups by order": 6 * BATCH,
    "lookups by id": 6 * BATCH,
    "one lookup": 6,
    "recover": 2 * BATCH,
    "cap": 3 * BATCH,
}
# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_nothing_walks_the_finished_rows(crowded: Site, make_person, make_site, sql) -> None:  # noqa: F811
    """One test, because a million rows take long to store; each check takes back what it did."""
    check_what_runs_all_day(crowded)
    sites = [crowded, *(make_site() for _ in range(3))]
    check_bulk_actions(crowded, user_of(make_person(sites=dict.fromkeys(sites, "operator"))), sql)


def adjusted(**named: str) -> NewAdjustment:
    return NewAdjustment.model_construct(
        **{"id": None, "orderId": None, "sourceKey": None, "conversionSourceKey": None} | named
    )


def check_what_runs_all_day(crowded: Site) -> None:  # noqa: F811
    rows = Conversion.objects.for_site(crowded)
    claimed = list(rows.filter(status="PROCESSING").values_list("pk", flat=True)[:BATCH])
    last = rows.order_by("-id").values_list("pk", flat=True)[500]
    cursor = decode_cursor(presenters.rows_page(crowded, limit=1, status=None, cursor=None)["nextCursor"])
    lines = [CsvLine(n, {"conversionName": "a", "gclid": f"c{n * 900}", "conversionTime": "now"}) for n in range(BATCH)]
    ids = range(1, 900_000, 900)
    chores = {
        "keys of CSV lines": lambda: LineKeys(crowded, MemoryIndex([], list)).find(lines),
        "the oldest, for metrics": lambda: oldest_waiting(Conversion),
        "export": lambda: rows.claim(limit=BATCH),
        "ack": lambda: rows.filter(pk__in=claimed).ack(),
        "ack-failed": lambda: rows.filter(pk__in=claimed).ack_failed(code="E", category="AUTH", message="no"),
        "recover": Conversion.objects.recover,
        "cap": Conversion.objects.cap,
        "requeue": Conversion.objects.requeue_transient,
        "withhold": Conversion.objects.sweep_withheld,
        "expire": Conversion.objects.expire,
        "end what was retracted": Conversion.objects.sweep_retracted,
        "unknown outcomes": lambda: unsettled_rows(crowded),
        "rows": lambda: presenters.rows_page(crowded, limit=200, status=None, cursor=cursor),
        "rows by state": lambda: presenters.rows_page(crowded, limit=200, status="FAILED", cursor=None),
        "stats": lambda: presenters.stats(crowded),
        "search": lambda: FILTERS.search.first(rows, "c500000"),
        "search at all sites": lambda: FILTERS.search.first(Conversion.objects.all(), "k50000"),
        "search for a bulk action": lambda: list(FILTERS.search(rows, "c50000").order_by("pk")[:BATCH]),
        "search for adjustments": lambda: list(
            ADJUSTMENT_FILTERS.search.first(Adjustment.objects.all(), "k500000").ids
        ),
        "keys of a request": lambda: known_ids(crowded, [{"id": n, "action": "a", "source_key": f"k{n}"} for n in ids]),
        "adjusted rows": lambda: find_originals(crowded, [adjusted(orderId=str(n)) for n in ids]),
        "adjusted rows by key": lambda: find_originals(crowded, [adjusted(sourceKey=f"k{n}") for n in ids]),
        "a person's rows": lambda: erasure.find(Person(IdentifierKind.CLICK_ID, "c500000"), [crowded]),
        "a person's rows by order": lambda: erasure.find(Person(IdentifierKind.ORDER_ID, "500000"), [crowded]),
        "a person's rows by e-mail": lambda: erasure.find(Person(IdentifierKind.EMAIL, "a@b.co"), [crowded]),
        "history": lambda: next(
            read_batches(crowded, start=datetime(1970, 1, 2, tzinfo=UTC), end=timezone.now() + DAY)
        ),
        "lookups by source key": lambda: look_up(crowded, [Lookup(sourceKey=f"k{n}") for n in ids]),
        "lookups by order": lambda: look_up(crowded, [Lookup(orderId=str(n)) for n in ids]),
        "lookups by id": lambda: look_up(crowded, [Lookup(id=pk) for pk in claimed]),
        "one lookup": lambda: look_up(crowded, [Lookup(sourceKey="k500000")]),
        "one row": lambda: list(rows.filter(pk=last)),
        "read-back": lambda: OurDays(crowded, zone=crowded.zone, read_at=timezone.now()).counts(str),
    }
    for name, chore in chores.items():
        ran = {*statements(chore, over=TABLE), *statements(chore, over=KEYS)}
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            assert walked(plan, TABLE, KEYS) == [], name
            most = BATCH * PAGES_PER_MOVE if "UPDATE" in statement else MOST.get(name, MOST_OF_ALL)
            assert blocks(plan) < most, (name, blocks(plan), statement)
    by_an_unindexed_column = "SELECT id FROM offline_conversion_queue WHERE last_error = 'x'"
    assert walked(explained(by_an_unindexed_column), TABLE) != []


def test_rows_that_wait_for_their_time_cost_a_claim_nothing(make_site, sql) -> None:
    """The bell asks every second; hundreds of thousands of deferred rows must not be read each time."""
    # Or the planner goes by another test's rows, and reads its dead ones.
    with crowding("sites_tenant", "ociqueue_site", "ociqueue_credentials", "ociqueue_circuit", TABLE):
        site = make_site(sync_method="api")
        Credentials.objects.create(site=site, encrypted="x")
        sql(FILL, site.pk, 1, WAITING, "RETRY", 1, "", "")

    for question in (lambda: due_sites().exists(), lambda: site.conversions.claim(limit=BATCH, batch=uuid7())):
        for statement in statements(question, over=TABLE):
            assert blocks(explained(statement)) < WAITING / 1000


def test_a_sweep_of_what_is_not_sent_does_not_read_what_waits(make_site, sql) -> None:
    """A backlog waits; a few of its rows were denied or retracted, came late, or have waited for months."""
    kinds = {
        "denied": "consent = 'DENIED'",
        "late": "conversion_time = now() - interval '91 days'",
        "old": "conversion_time = now() - interval '91 days', created_at = now() - interval '90 days'",
        "retracted": "is_retracted = true",
    }
    with crowding("sites_tenant", "ociqueue_site", TABLE):
        site = make_site()
        sql(FILL, site.pk, 1, BURST, "QUEUED", 0, "", "")
        for number, columns in enumerate(kinds.values(), start=1):
            sql(f"UPDATE {TABLE} SET {columns} WHERE order_id = %s", str(number))

    sweeps = (Conversion.objects.sweep_withheld, Conversion.objects.expire, Conversion.objects.sweep_retracted)
    for sweep in sweeps:
        ran = statements(sweep, over=TABLE)
        assert ran
        for statement in ran:
            assert blocks(explained(statement)) < BURST / 100, statement  # rows that a filter removes count, too
    assert [sweep() for sweep in sweeps] == [1, 2, 1]


def test_a_claim_reads_only_its_rows_before_the_planner_knows_of_them(make_site, sql) -> None:
    """Statistics are of the time before a burst came in: few rows waited, and none of the site."""
    with crowding("sites_tenant", "ociqueue_site", TABLE):
        site, old = make_site(), make_site()
        sql(FILL, old.pk, 1, 10_000, "COMPLETED", 1, "", "")
        sql(FILL, old.pk, 10_001, 10_010, "QUEUED", 0, "", "")
    sql(FILL, site.pk, 20_001, 20_000 + BURST, "QUEUED", 0, "", "")

    claims = (
        lambda: claim_values(site, "id", limit=10),
        lambda: Conversion.objects.for_site(site).claim(limit=10),
    )
    for claim in claims:
        (plan,) = plans(claim, over=TABLE)
        assert rows_read(plan, TABLE) < BURST / 100


@pytest.mark.parametrize("known", [0, 100, 500, 2_000, BURST])
def test_a_claim_reads_only_its_rows_whatever_the_planner_knows_of_the_site(make_site, sql, known: int) -> None:
    """Statistics are of the end of the last burst, or of the middle of this one."""
    with crowding("sites_tenant", "ociqueue_site", TABLE):
        site = make_site()
        sql(FILL, site.pk, 1, 100_000, "COMPLETED", 1, "", "")
        sql(FILL, site.pk, 100_001, 100_000 + known, "QUEUED", 0, "", "")
    sql(FILL, site.pk, 200_001, 200_000 + BURST, "QUEUED", 0, "", "")

    claims = (
        lambda: claim_values(site, "id", limit=10),
        lambda: Conversion.objects.for_site(site).claim(limit=10),
    )
    for claim in claims:
        (plan,) = plans(claim, over=TABLE)
        assert rows_read(plan, TABLE) < BURST / 100


def test_a_claim_does_not_read_rows_whose_time_has_not_come(make_site, sql) -> None:
    with crowding("sites_tenant", "ociqueue_site", TABLE):
        site = make_site()
        sql(FILL, site.pk, 1, WAITING, "RETRY", 1, "", "")
        sql(FILL, site.pk, WAITING + 1, WAITING + 10, "QUEUED", 0, "", "")

    for claim in (
        lambda: claim_values(site, "id", limit=10),
        lambda: Conversion.objects.for_site(site).claim(limit=10),
    ):
        (plan,) = plans(claim, over=TABLE)
        assert blocks(plan) < WAITING / 100  # rows that a filter removes count, too
