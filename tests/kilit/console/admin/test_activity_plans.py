"""The activity among very many rows: no page of it, no count and no filter walks the table."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.lists.actions import recent_reasons
from ociqueue.models import Site
from tests.support.dashboard import make_site
from tests.support.plans import blocks, crowding, explained, statements, walked

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PAGE = "/admin/lock/activity/"
TABLE = "lock_activity"
ROWS = 400_000
# The deepest page passes ten thousand rows, some in blocks that they share with rows of other kinds.
MOST_BLOCKS = 6_000

# Every tenth row moved jobs of nine sites at once, and the others are their parts; one person did little, long ago.
FILL = """
    INSERT INTO lock_activity
      (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part, created_at)
    SELECT CASE WHEN n %% 1000 = 0 THEN 'key' ELSE 'task' END, 'sweep:oci_recover',
      CASE WHEN n < 100 THEN 'can' WHEN n %% 100 = 0 THEN 'ayse' ELSE '' END,
      CASE WHEN n %% 1000 = 0 THEN '' ELSE 'conversion' END,
      CASE WHEN n %% 10 = 0 THEN '' ELSE sites.ids[n %% 10] END, 'recover', 9, '', 'no result was reported in time',
      n %% 10 > 0, now() - interval '1 minute' * (%(rows)s - n)
    FROM (SELECT array_agg(id::text) AS ids FROM ociqueue_site) AS sites, generate_series(1, %(rows)s) n
"""


@pytest.fixture
def sites() -> list[Site]:
    sites = [make_site(f"site {number}") for number in range(9)]
    with crowding(TABLE), connection.cursor() as cursor:
        cursor.execute(FILL, {"rows": ROWS})
    return sites


def look_over(client: Client, filters: dict[str, str]) -> int:
    """Ask for a page, hold each of its statements to the bound, and return the last page's number."""
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(PAGE, filters)
    assert answer.status_code == 200, filters
    asked = [query["sql"] for query in captured if TABLE in query["sql"] and query["sql"].startswith("SELECT")]
    assert len(asked) == 2, filters  # the count, and the page
    for statement in asked:
        plan = explained(statement)
        assert walked(plan, TABLE) == [], (filters, statement)
        assert blocks(plan) < MOST_BLOCKS, (filters, blocks(plan), statement)
    return int(answer.context["cl"].paginator.num_pages)


def test_no_page_of_the_activity_walks_it(sites: list[Site], admin_client, make_person) -> None:
    site = str(sites[4].pk)
    lists: list[dict[str, str]] = [
        {},
        {"kind": "task"},
        {"kind": "key"},
        {"kind": "login"},
        {"person": "ayse"},
        {"person": "can"},
        {"person": "can", "site": site},
        {"queue": "conversion"},
        {"site": site},
        {"site": site, "kind": "task"},
        {"to": "2026-06-01"},
        {"from": "2026-01-01", "to": "2026-01-02"},
        {"kind": "key", "person": "ayse", "to": "2026-09-01"},
    ]
    member = make_person("ayse", role="viewer", sites=(sites[4],))

    for client, asked in ((admin_client, lists), (member, [{}, {"site": site}])):
        for filters in asked:
            if (last := look_over(client, filters)) > 1:
                look_over(client, {**filters, "p": str(last)})
    for person in ("ayse", "can", "nobody"):
        user = User(username=person)
        (statement,) = statements(lambda user=user: recent_reasons(user, "retry"), over=TABLE)
        assert blocks(explained(statement)) < 300, "of the newest of this person"
    assert blocks(explained(f"SELECT count(*) FROM {TABLE}")) > MOST_BLOCKS, "the bound separates a walk from a page"
