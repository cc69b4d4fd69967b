"""Query plans at a million rows: what runs all day never walks the finished ones."""

import pytest

from kilit.lock.identity import uuid7
from ociqueue import presenters
from ociqueue.admin.listing import search
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.uploader.due import due_sites
from tests.support.plans import blocks, crowding, explained, statements, walked

pytestmark = pytest.mark.django_db

TABLE = "offline_conversion_queue"
FINISHED = 1_000_000
LIVE = 5_000
WAITING = 100_000
# A thousand rows touched, each with its index entries, event and counts; a walk of the table would take far more.
BUFFERS_PER_ROW = 60

FILL = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, next_retry_at, last_error,
      provider_error_code, provider_error_category, provider_request_id, source_key)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'a', 'c' || n, '', '', now(),
      1, 'TRY', n, 'UNSPECIFIED', attempts, 0, CASE WHEN status <> 'QUEUED' THEN now() - interval '1 hour' END,
      CASE WHEN status = 'RETRY' THEN now() + interval '6 hours' END, '', code, category, '', 'k' || n
    FROM generate_series(%s, %s) n, (SELECT %s AS status, %s AS attempts, %s AS code, %s AS category) AS wanted
"""
# (status, attempts, code, category): how many
KINDS = {
    ("COMPLETED", 1, "", ""): FINISHED,
    ("FAILED", 5, "MAX_ATTEMPTS", "PERMANENT"): LIVE,
    ("FAILED", 5, "UPLOAD_EXCEPTION", "TRANSIENT"): LIVE,  # spent: the sweep must not look at them again and again
    ("FAILED", 1, "UPLOAD_EXCEPTION", "TRANSIENT"): 1_000,
    ("PROCESSING", 1, "", ""): LIVE,
    ("QUEUED", 5, "", ""): 1_000,
    ("QUEUED", 0, "", ""): LIVE,
}


@pytest.fixture
def crowded(site: Site, sql) -> Site:
    """A million finished rows and some of every live kind, as vacuum leaves them: born so, guards off."""
    Site.objects.update(requeue_transient=True)
    first = 1
    with crowding(TABLE):
        for (status, attempts, code, category), rows in KINDS.items():
            sql(FILL, site.pk, first, first + rows - 1, status, attempts, code, category)
            first += rows
    return site


def test_nothing_that_runs_all_day_walks_the_finished_rows(crowded: Site) -> None:
    rows = Conversion.objects.for_site(crowded)
    claimed = list(rows.filter(status="PROCESSING").values_list("pk", flat=True)[:1000])
    last = rows.order_by("-id").values_list("pk", flat=True)[500]
    cursor = presenters.rows_page(crowded, limit=1, status=None, cursor=None)["nextCursor"]
    chores = {
        "export": lambda: rows.claim(limit=1000),
        "ack": lambda: rows.filter(pk__in=claimed).ack(),
        "ack-failed": lambda: rows.filter(pk__in=claimed).ack_failed(code="E", category="AUTH", message="no"),
        "recover": Conversion.objects.recover,
        "cap": Conversion.objects.cap,
        "requeue": Conversion.objects.requeue_transient,
        "rows": lambda: presenters.rows_page(crowded, limit=200, status=None, cursor=cursor),
        "rows by state": lambda: presenters.rows_page(crowded, limit=200, status="FAILED", cursor=None),
        "stats": lambda: presenters.stats(crowded),
        "search": lambda: list(search(rows, "c500000")),
        "one row": lambda: list(rows.filter(pk=last)),
    }

    for name, chore in chores.items():
        ran = statements(chore, over=TABLE)
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            assert walked(plan, TABLE) == [], name
            assert blocks(plan) < 1000 * BUFFERS_PER_ROW, (name, blocks(plan))
    by_an_unindexed_column = "SELECT id FROM offline_conversion_queue WHERE last_error = 'x'"
    assert walked(explained(by_an_unindexed_column), TABLE) != []


def test_rows_that_wait_for_their_time_cost_a_claim_nothing(make_site, sql) -> None:
    """The bell asks every second; hundreds of thousands of deferred rows must not be read each time."""
    # Or the planner goes by another test's rows, and reads its dead ones.
    with crowding("ociqueue_site", "ociqueue_credentials", "ociqueue_circuit", TABLE):
        site = make_site(sync_method="api")
        Credentials.objects.create(site=site, sealed="x")
        sql(FILL, site.pk, 1, WAITING, "RETRY", 1, "", "")

    for question in (lambda: due_sites().exists(), lambda: site.conversions.claim(limit=1000, batch=uuid7())):
        for statement in statements(question, over=TABLE):
            assert blocks(explained(statement)) < WAITING / 1000
