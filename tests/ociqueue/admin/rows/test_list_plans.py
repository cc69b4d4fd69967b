"""The console's list at a million rows: no page of it, however deep, walks the table."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.batches.models import BulkAction, BulkItem
from ociqueue.models import Conversion, Site
from ociqueue.operating.errors import groups_of_wrong_data
from ociqueue.operating.filters import FILTERS
from tests.support.crowded_conversions import FILL_KEYS, KEYS, TABLE
from tests.support.plans import blocks, crowding, explained, statements

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LIST = "/admin/ociqueue/conversion/"
ROWS = 1_000_000
# The deepest page passes ten thousand rows, at worst each in a block of its own.
MOST_BLOCKS = 12_000

# An outage a while ago: the older half failed, and none of the newer. Some wait for their next attempt.
FILL = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, next_retry_at, last_error,
      provider_error_code, provider_error_category, error_group, provider_request_id, source_key, created_at)
    SELECT (substr(stamp, 1, 8) || '-' || substr(stamp, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      CASE WHEN n %% 100 = 0 THEN %(small)s ELSE %(large)s END, status, 'a', 'c' || n, '', '', now(), 1, 'TRY', n,
      'UNSPECIFIED', 1, 0, now(), CASE WHEN status = 'RETRY' THEN now() + interval '6 hours' END,
      CASE WHEN code = '' THEN '' ELSE 'No click ' || n END, code, category,
      CASE WHEN code = '' THEN '' ELSE left(md5(code || chr(10) || 'No click #'), 16) END, '', 'k' || n, made
    FROM (
      SELECT n, made, status, code, CASE code WHEN '' THEN '' WHEN 'BUSY' THEN 'TRANSIENT' WHEN 'RARE' THEN 'AUTH'
        ELSE 'VALIDATION' END AS category,
        lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0') AS stamp
      FROM (
        SELECT n, now() - (%(rows)s - n) * interval '2.5 seconds' AS made,
          CASE WHEN n %% 120 = 0 THEN 'RETRY' WHEN n <= %(rows)s / 2 THEN 'FAILED' ELSE 'COMPLETED' END AS status,
          CASE WHEN n %% 24000 = 0 THEN 'RARE' WHEN n %% 120 = 0 THEN 'BUSY' WHEN n <= %(rows)s / 2
            THEN 'INVALID' ELSE '' END AS code
        FROM generate_series(1, %(rows)s) n
      ) AS kinds
    ) AS stamped
"""


@pytest.fixture
def crowded(make_site) -> tuple[Site, Site]:
    """A million rows over 29 days, as vacuum leaves them: born so, guards off."""
    # The list joins the first two, and would read their dead rows for each of its own.
    with crowding("sites_tenant", "ociqueue_site", "ociqueue_uploadbatch", TABLE, KEYS), connection.cursor() as cursor:
        large, small = make_site(name="Large"), make_site(name="Small")
        cursor.execute(FILL, {"large": large.pk, "small": small.pk, "rows": ROWS})
        cursor.execute(FILL_KEYS)
    return large, small


def group_of(sql: Any, code: str) -> str:
    ((group,),) = sql("SELECT left(md5(%s || chr(10) || 'No click #'), 16)", code)
    return group


def lists(large: Site, small: Site, sql: Any) -> list[dict[str, str]]:
    """Return the lists that an operator may ask for: each filter, and some together."""
    return [
        {},
        *({"status": state} for state in ("QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED")),
        *({"site": str(site.pk)} for site in (large, small)),
        {"site": str(small.pk), "status": "FAILED"},
        *({"code": code} for code in ("INVALID", "BUSY", "RARE", "NEVER")),
        *({"category": kind} for kind in ("VALIDATION", "TRANSIENT", "AUTH", "RATE_LIMIT")),
        *({"since": age} for age in ("1", "24", "168", "720", "over-1", "over-24", "over-168")),
        {"from": "2026-01-01", "to": "2026-01-02"},
        *({"group": group_of(sql, code)} for code in ("INVALID", "BUSY", "RARE", "NEVER")),
        {"group": group_of(sql, "INVALID"), "site": str(small.pk)},
        {"group": group_of(sql, "RARE"), "site": str(small.pk)},
        {"group": group_of(sql, "INVALID"), "status": "FAILED", "since": "720"},
        {"code": "INVALID", "site": str(small.pk)},
        {"code": "INVALID", "status": "FAILED"},
        *({"q": text} for text in ("C500000", "500000", "K500000", "00000000-0000-7000-8000-000000000001")),
        # Beginnings of a million rows, of half a million old ones, of some, and of none.
        *({"q": text} for text in ("k", "K4", "k99", "c7777", "5", "never")),
        # The oldest first.
        *({"o": "7", **filters} for filters in ({}, {"status": "FAILED"}, {"code": "RARE"}, {"site": str(small.pk)})),
        {"q": "k", "site": str(small.pk)},
        {"q": "k4", "status": "COMPLETED"},
        {"q": "k9", "site": str(small.pk), "status": "FAILED"},
        *({"bulk": bulk, **more} for bulk in [old_bulk()] for more in ({}, {"status": "FAILED"}, {"status": "QUEUED"})),
    ]


def old_bulk() -> str:
    """Record a bulk action that changed the oldest of the rows."""
    user = User.objects.create_user("can")
    action = BulkAction.objects.create(
        queue="conversion", action="retry", asked_by=user, reason="x", filters={"q": "k"}
    )
    oldest = Conversion.objects.order_by("pk").values_list("pk", flat=True)[:12_000]
    items = [BulkItem(action=action, object_id=pk, found_as="FAILED", result="changed") for pk in oldest]
    BulkItem.objects.bulk_create(items)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE bulk_bulkitem")
    return str(action.pk)


def look_over(client: Client, asked: dict[str, str]) -> int:
    """Ask for a page, hold each of its questions to the bound, and return the last page's number."""
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(LIST, asked)
    assert answer.status_code == 200, asked
    few = [query["sql"] for query in captured if TABLE in query["sql"]]
    assert len(few) <= (3 if "q" in asked else 2), asked  # the search, the count, and the page
    for query in few:
        assert "DISTINCT" not in query
        read = blocks(explained(query))
        assert read < MOST_BLOCKS, (asked, read, query)
    return int(answer.context["cl"].paginator.num_pages)


def test_no_page_of_the_list_walks_the_table(crowded: tuple[Site, Site], admin_client: Client, sql) -> None:
    for filters in lists(*crowded, sql):
        last = look_over(admin_client, filters)
        if last > 1:  # the deepest page passes all others
            look_over(admin_client, {**filters, "p": str(last)})
    for text in ("never", "c7777", "k77777"):
        (statement,) = statements(lambda text=text: FILTERS.search.first(Conversion.objects.all(), text), over=TABLE)
        assert blocks(explained(statement)) < 1000, "the rows that it finds, not all of an index"
    groups = [group_of(sql, code) for code in ("INVALID", "BUSY", "RARE", "NEVER")]
    (statement,) = statements(lambda: groups_of_wrong_data(groups), over=TABLE)
    assert blocks(explained(statement)) < 40, "one row of each group"
    walk = explained("SELECT count(*) FROM offline_conversion_queue WHERE last_error = 'x'")
    assert blocks(walk) > 2 * MOST_BLOCKS, "the bound distinguishes a walk from a page"
