"""Query plans among many finished jobs: what runs every second never walks them."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.api import presenters
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.workflow.runner import is_due
from tests.support.plans import crowding, explained, statements, walked

pytestmark = pytest.mark.django_db

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
def crowded(sql) -> None:
    """Many finished jobs and a few live ones: born so, guards off."""
    with crowding(TABLE):
        sql(FILL, 1, 100_000, "DONE")
        sql(FILL, 100_001, 100_050, "OPTI_IMPORTED")
        sql(FILL, 100_051, 100_100, "NEW")


QUESTIONS: dict[str, Callable[[], Any]] = {
    "claim": Job.objects.claim,
    "claim of the workers": lambda: Job.objects.brief().claim(),
    "is anything due": is_due,
    "wake the next": Job.objects.wake_next,
    "release lapsed": release_lapsed,
    "list": lambda: presenters.page(limit=50, state=None, order_id=None, cursor=None),
    "list of a state": lambda: presenters.page(limit=50, state="HOLD", order_id=None, cursor=None),
    "list of an order": lambda: presenters.page(limit=50, state=None, order_id="S-7", cursor=None),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_walks_the_finished_jobs_to(question, crowded) -> None:
    looked = statements(QUESTIONS[question], over=TABLE)

    assert looked
    for statement in looked:
        assert walked(explained(statement), TABLE) == [], statement
