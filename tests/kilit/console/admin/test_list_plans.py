"""Events and refusals among very many: no page of their lists, and no count, walks the table."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.dashboard.live import LAST_EVENT
from tests.support.plans import blocks, crowding, explained

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROWS = 200_000
# The deepest page passes ten thousand rows, some dozens in a block.
MOST_BLOCKS = 1_000

FILL = {
    "lock_event": """
        INSERT INTO lock_event
          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
        SELECT 'conversion', ('00000000-0000-7000-8000-' || lpad(to_hex(n / 4), 12, '0'))::uuid, 'move', 'QUEUED',
          'PROCESSING', 'worker:here', 'taken', '{"attempt_count": 1}', now() FROM generate_series(1, %s) n
    """,
    "access_deniedrequest": """
        INSERT INTO access_deniedrequest
          (minute, actor, address, method, path, code, detail, times, first_at, last_at)
        SELECT now() - n * interval '1 minute', 'operator:ayse', '10.0.0.1', 'POST', '/admin/ociqueue/conversion/' || n,
          CASE WHEN n %% 2 = 0 THEN 'FORBIDDEN' ELSE 'CSRF' END, 'not yours', 1, now(), now()
        FROM generate_series(1, %s) n
    """,
}
LISTS = {
    "lock_event": ("/admin/lock/event/", [{}, {"q": "00000000-0000-7000-8000-000000000100"}]),
    "access_deniedrequest": ("/admin/access/deniedrequest/", [{}, {"code__exact": "CSRF"}]),
}


def look_over(client: Client, table: str, address: str, asked: dict[str, str]) -> Any:
    """Ask for a page, hold each of its questions to the bound, and return its paginator."""
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(address, asked)
    assert answer.status_code == 200, asked
    few = [query["sql"] for query in captured if table in query["sql"] and query["sql"] != LAST_EVENT]
    assert len(few) == 2, asked  # the count, and the page
    for query in few:
        read = blocks(explained(query))
        assert read < MOST_BLOCKS, (asked, read, query)
    return answer.context["cl"].paginator


@pytest.mark.parametrize("table", LISTS)
def test_no_page_of_the_list_counts_the_whole_table(admin_client, sql, table: str) -> None:
    address, lists = LISTS[table]
    with crowding(table):
        sql(FILL[table], ROWS)

    for filters in lists:
        paginator = look_over(admin_client, table, address, filters)
        if "q" in filters:
            assert paginator.count == 4
            continue
        assert paginator.count_text().startswith("more than 10,000 ")
        look_over(admin_client, table, address, {**filters, "p": str(paginator.num_pages)})
    walk = explained(f"SELECT count(*) FROM {table}")
    assert blocks(walk) > 2 * MOST_BLOCKS, "the bound separates a walk from a page"
