"""A conversion queue with a million finished rows."""

from collections.abc import Callable
from typing import Any

import pytest

from ociqueue.models import Site
from tests.support.plans import crowding

TABLE = "offline_conversion_queue"
KEYS = "ociqueue_conversionkey"


FINISHED = 1_000_000


LIVE = 5_000


WAITING = 100_000


# Pages for each row that moves, with its index entries, event and counts: 19 to 29 were measured.
PAGES_PER_MOVE = 40


FILL = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, next_retry_at, last_error,
      provider_error_code, provider_error_category, provider_request_id, source_key)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'a', 'c' || n, '', '', now(),
      1, 'TRY', n, 'UNSPECIFIED', attempts, 0, CASE WHEN status <> 'QUEUED' THEN now() - interval '1 hour' END,
      CASE WHEN status = 'RETRY' THEN now() + interval '6 hours' END, '', code, category, '', 'k' || n
    FROM generate_series(%s, %s) n, (SELECT %s AS status, %s AS attempts, %s AS code, %s AS category) AS wanted
"""


# As a trigger would write them, were the guards on.
FILL_KEYS = """
    INSERT INTO ociqueue_conversionkey (id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone)
    SELECT id, site_id, action, source_key, order_id, gclid || wbraid || gbraid, hashed_email, hashed_phone
    FROM offline_conversion_queue
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
def crowded(site: Site, sql: Callable[..., Any]) -> Site:
    """A million finished rows and some of every live kind, as vacuum leaves them: born so, guards off."""
    Site.objects.update(requeue_transient=True)
    first = 1
    with crowding(TABLE, KEYS):
        for (status, attempts, code, category), rows in KINDS.items():
            sql(FILL, site.pk, first, first + rows - 1, status, attempts, code, category)
            first += rows
        sql(FILL_KEYS)
    return site
