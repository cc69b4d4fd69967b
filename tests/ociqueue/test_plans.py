"""Query plans at a million rows: what runs all day never walks the finished ones."""

import pytest
from django.utils import timezone

from kilit.api.cursor import decode_cursor
from kilit.lock.identity import uuid7
from ociqueue import presenters
from ociqueue.csv_keys import LineKeys
from ociqueue.csv_reader import CsvLine
from ociqueue.filters import FILTERS
from ociqueue.metrics import oldest_waiting
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.reconcile.ours import OurDays
from ociqueue.uploader.upload_run import due_sites
from tests.support.bulk_actions import user_of
from tests.support.bulk_plans import check_bulk_actions
from tests.support.crowded_conversions import BUFFERS_PER_ROW, FILL, TABLE, WAITING, crowded  # noqa: F401 - a fixture
from tests.support.plans import blocks, crowding, explained, statements, walked

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_nothing_walks_the_finished_rows(crowded: Site, make_person, make_site, sql) -> None:  # noqa: F811
    """One test, because a million rows take long to store; each check takes back what it did."""
    check_what_runs_all_day(crowded)
    sites = [crowded, *(make_site() for _ in range(3))]
    check_bulk_actions(crowded, user_of(make_person(sites=dict.fromkeys(sites, "operator"))), sql)


def check_what_runs_all_day(crowded: Site) -> None:  # noqa: F811
    rows = Conversion.objects.for_site(crowded)
    claimed = list(rows.filter(status="PROCESSING").values_list("pk", flat=True)[:1000])
    last = rows.order_by("-id").values_list("pk", flat=True)[500]
    cursor = decode_cursor(presenters.rows_page(crowded, limit=1, status=None, cursor=None)["nextCursor"])
    lines = [CsvLine(n, {"conversionName": "a", "gclid": f"c{n * 900}", "conversionTime": "now"}) for n in range(1000)]
    chores = {
        "keys of CSV lines": lambda: LineKeys(crowded, lines).find(lines),
        "the oldest, for metrics": lambda: oldest_waiting(Conversion),
        "export": lambda: rows.claim(limit=1000),
        "ack": lambda: rows.filter(pk__in=claimed).ack(),
        "ack-failed": lambda: rows.filter(pk__in=claimed).ack_failed(code="E", category="AUTH", message="no"),
        "recover": Conversion.objects.recover,
        "cap": Conversion.objects.cap,
        "requeue": Conversion.objects.requeue_transient,
        "rows": lambda: presenters.rows_page(crowded, limit=200, status=None, cursor=cursor),
        "rows by state": lambda: presenters.rows_page(crowded, limit=200, status="FAILED", cursor=None),
        "stats": lambda: presenters.stats(crowded),
        "search": lambda: FILTERS.search.first(rows, "c500000"),
        "one row": lambda: list(rows.filter(pk=last)),
        "read-back": lambda: OurDays(crowded, zone=crowded.zone, read_at=timezone.now()).counts(str),
    }
    most = {"read-back": 1000}  # it reads the rows of the last weeks by their ids, which here are from 1970

    for name, chore in chores.items():
        ran = statements(chore, over=TABLE)
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            assert walked(plan, TABLE) == [], name
            assert blocks(plan) < most.get(name, 1000 * BUFFERS_PER_ROW), (name, blocks(plan))
    by_an_unindexed_column = "SELECT id FROM offline_conversion_queue WHERE last_error = 'x'"
    assert walked(explained(by_an_unindexed_column), TABLE) != []


def test_rows_that_wait_for_their_time_cost_a_claim_nothing(make_site, sql) -> None:
    """The bell asks every second; hundreds of thousands of deferred rows must not be read each time."""
    # Or the planner goes by another test's rows, and reads its dead ones.
    with crowding("ociqueue_site", "ociqueue_credentials", "ociqueue_circuit", TABLE):
        site = make_site(sync_method="api")
        Credentials.objects.create(site=site, encrypted="x")
        sql(FILL, site.pk, 1, WAITING, "RETRY", 1, "", "")

    for question in (lambda: due_sites().exists(), lambda: site.conversions.claim(limit=1000, batch=uuid7())):
        for statement in statements(question, over=TABLE):
            assert blocks(explained(statement)) < WAITING / 1000
