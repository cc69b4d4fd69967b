"""A hundred thousand finished cutting jobs."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.plans import crowding

TABLE = "orchestrator_job"


FILL = """
    INSERT INTO orchestrator_job (id, status, order_id, customer_phone, customer_snapshot_name, opti_mode, revision,
      payload, payload_hash, part_count, manual_trigger_approved, retry_count, lapse_count, error_code,
      error_message, files, xml_sha256, delivery_names, handed_at, finished_at, imported_at)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, status, 'S-' || n, '+905551234567', '',
      'C', 0, '{}', n, 1, true, 0, 0, '', '', '[]', 'x', '[]', now(), CASE WHEN status = 'DONE' THEN now() END, now()
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""


@pytest.fixture
def crowded(sql: Callable[..., Any]) -> None:
    """Many finished jobs and a few live ones: born so, guards off."""
    with crowding(TABLE):
        sql(FILL, 1, 100_000, "DONE")
        sql(FILL, 100_001, 100_050, "OPTI_IMPORTED")
        sql(FILL, 100_051, 100_100, "NEW")
