"""Query plans over many finished jobs: what runs all day never walks them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pdfjobs import cleanup, enqueue, work
from pdfjobs.admin.listing import search
from pdfjobs.models import PdfJob
from tests.pdfjobs.conftest import some_user
from tests.support.plans import blocks, crowding, explained, statements, walked

pytestmark = pytest.mark.django_db

TABLE = "pdfjobs_pdfjob"
FINISHED = 200_000
# Two hundred rows touched at most, each with its index entries, event and counts.
MOST_BUFFERS = 20_000

FILL = """
    INSERT INTO pdfjobs_pdfjob (id, owner_id, status, job_key, template_name, payload, options, timeout, artifact_key,
      artifact_digest, artifact_size, error_code, error_detail, retry_count, queued_at, started_at, finished_at,
      claim_token, lease_until)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'k' || n, 'invoice', '{}',
      '{}', '1 minute', CASE WHEN status = 'succeeded' THEN 'pdfs/' || n ELSE '' END, 'd', 1,
      CASE WHEN status = 'failed' THEN 'UNKNOWN' ELSE '' END, '', 0, now() - interval '2 days',
      CASE WHEN status <> 'queued' THEN now() - interval '2 days' END,
      CASE WHEN status NOT IN ('queued', 'running') THEN now() - interval '2 days' END,
      CASE WHEN status = 'running' THEN gen_random_uuid() END,
      CASE WHEN status = 'running' THEN now() - interval '1 day' END
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""
KINDS = {"expired": FINISHED, "succeeded": 500, "failed": 500, "running": 100, "queued": 500}


@pytest.fixture
def crowded(sql) -> int:
    """Many finished jobs and some of every other kind, as vacuum leaves them: born so, guards off."""
    owner = some_user().pk
    first = 1
    with crowding(TABLE):
        for status, rows in KINDS.items():
            sql(FILL, owner, first, first + rows - 1, status)
            first += rows
    return owner


def test_nothing_that_runs_all_day_walks_the_finished_jobs(crowded: int, monkeypatch) -> None:
    monkeypatch.setattr(cleanup.store, "delete", lambda _: None)
    rows = PdfJob.objects.order_by("-id")
    chores: dict[str, Callable[[], Any]] = {
        "is due": work.is_due,
        "claim": PdfJob.objects.claim,
        "reap": PdfJob.objects.reap,
        "cleanup": cleanup.clean,
        "look before cleanup": lambda: cleanup.preview(ttl=timedelta(hours=24)),
        "depth": enqueue.queue_is_full,
        "live key": lambda: PdfJob.objects.filter(owner=crowded, job_key="k5").live().first(),
        "list": lambda: list(rows[:50]),
        "list of a state": lambda: list(rows.filter(status="failed")[:50]),
        "list of a code": lambda: list(rows.filter(status="failed", error_code="UNKNOWN")[:50]),
        "list of a template": lambda: list(rows.filter(template_name="offer")[:50]),
        "search by key": lambda: list(search(rows, f"{7:064}")[:50]),
    }

    for name, chore in chores.items():
        ran = statements(chore, over=TABLE)
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            assert walked(plan, TABLE) == [], (name, statement)
            assert blocks(plan) < MOST_BUFFERS, (name, blocks(plan))
    assert walked(explained("SELECT id FROM pdfjobs_pdfjob WHERE error_detail = 'x'"), TABLE) != []
