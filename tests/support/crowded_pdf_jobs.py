"""Two hundred thousand finished PDF jobs."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.pdf_jobs import some_user
from tests.support.plans import crowding

TABLE = "pdfjobs_pdfjob"


FINISHED = 200_000


# Two hundred rows touched at most, each with its index entries, event and counts.
MOST_BUFFERS = 20_000


FILL = """
    INSERT INTO pdfjobs_pdfjob (id, owner_id, status, job_key, template_name, document_number, payload, options,
      timeout, artifact_key, artifact_digest, artifact_size, error_code, error_detail, retry_count, queued_at,
      started_at, finished_at, claim_token, lease_until)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'k' || n, 'invoice',
      'N-' || n, '{}', '{}', '1 minute', CASE WHEN status = 'succeeded' THEN 'pdfs/' || n ELSE '' END, 'd', 1,
      CASE WHEN status = 'failed' THEN 'UNKNOWN' ELSE '' END, '', 0, now() - interval '2 days',
      CASE WHEN status <> 'queued' THEN now() - interval '2 days' END,
      CASE WHEN status NOT IN ('queued', 'running') THEN now() - interval '2 days' END,
      CASE WHEN status = 'running' THEN gen_random_uuid() END,
      CASE WHEN status = 'running' THEN now() - interval '1 day' END
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""


KINDS = {"expired": FINISHED, "succeeded": 500, "failed": 500, "running": 100, "queued": 500}


@pytest.fixture
def crowded(sql: Callable[..., Any]) -> int:
    """Many finished jobs and some of every other kind, as vacuum leaves them: born so, guards off."""
    owner = some_user().pk
    first = 1
    with crowding(TABLE):
        for status, rows in KINDS.items():
            sql(FILL, owner, first, first + rows - 1, status)
            first += rows
    return owner
