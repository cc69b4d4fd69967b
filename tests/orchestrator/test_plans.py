"""Query plans among many finished jobs: what runs every second never walks them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from orchestrator import insight
from orchestrator.models import Job
from orchestrator.runner import is_due

pytestmark = pytest.mark.django_db

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
    sql("SET LOCAL session_replication_role = replica")
    sql(FILL, 1, 100_000, "DONE")
    sql(FILL, 100_001, 100_050, "OPTI_IMPORTED")
    sql(FILL, 100_051, 100_100, "NEW")
    sql("SET LOCAL session_replication_role = DEFAULT")
    sql("ANALYZE orchestrator_job")


def walked(plan: dict[str, Any]) -> Iterator[str]:
    """Return the parts of a plan that read the whole table of jobs."""
    if plan["Node Type"].endswith("Seq Scan") and plan["Relation Name"] == "orchestrator_job":
        yield plan["Node Type"]
    for part in plan.get("Plans", ()):
        yield from walked(part)


QUESTIONS: dict[str, Callable[[], Any]] = {
    "claim": Job.objects.claim,
    "claim of the workers": lambda: Job.objects.brief().claim(),
    "is anything due": is_due,
    "wake the next": Job.objects.wake_next,
    "release lapsed": Job.objects.release_lapsed,
    "list": lambda: insight.page(limit=50, state=None, order_id=None, cursor=None),
    "list of a state": lambda: insight.page(limit=50, state="HOLD", order_id=None, cursor=None),
    "list of an order": lambda: insight.page(limit=50, state=None, order_id="S-7", cursor=None),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_walks_the_finished_jobs_to(question, crowded) -> None:
    with transaction.atomic(), CaptureQueriesContext(connection) as asked:
        QUESTIONS[question]()
        transaction.set_rollback(True)

    looked = [query["sql"] for query in asked.captured_queries if "orchestrator_job" in query["sql"]]
    assert looked
    for statement in looked:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {statement.replace('%', '%%')}", [])
            ((told,),) = cursor.fetchall()
            transaction.set_rollback(True)
        assert list(walked(told[0]["Plan"])) == [], statement
