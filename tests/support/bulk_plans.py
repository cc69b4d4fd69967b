"""Bulk actions at a million rows: neither the page nor a batch walks the finished ones."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import User

from kilit.batches.models import BulkAction
from kilit.batches.queues import queues
from kilit.batches.run import count_matching, plan, record_rows, run_batch
from ociqueue.models import Site
from ociqueue.operating.operations import RETRY
from tests.support.crowded_conversions import PAGES_PER_MOVE, TABLE
from tests.support.plans import blocks, explained, statements, walked

FEW = 2_000  # pages; the table has ten times as many
# What statements may read: half as much again as was measured, or a little more.
MOST_TO_COUNT = 6_000
PAGES_PER_ITEM = 10


def check(statement: str, *, most: int) -> None:
    """Explain a statement: it reads what it needs, and a walk ends early where nearly all rows are wanted anyway."""
    explanation = explained(statement)
    read = blocks(explanation)
    assert not walked(explanation, TABLE) or read < FEW, (read, statement)
    assert read < most, (read, statement)


def check_bulk_actions(crowded: Site, user: User, sql: Callable[..., Any]) -> None:
    """Filter by state, by error, and by site alone, which a million finished rows match too."""
    filters = [{"status": "FAILED"}, {"code": "UPLOAD_EXCEPTION"}, {"site": str(crowded.pk)}, {"category": "TRANSIENT"}]
    ((pages,),) = sql("SELECT relpages FROM pg_class WHERE relname = 'offline_conversion_queue'")
    assert pages > 10 * FEW

    for chosen in filters:
        check_bulk_action(chosen, user)


def check_bulk_action(chosen: dict[str, str], user: User) -> None:
    plan(queue="conversion", action="retry", user=user, filters=chosen, filters_text="", reason="x", options={})
    action = BulkAction.objects.claim()
    assert action
    for statement in statements(partial(count_matching, queues["conversion"], RETRY, user, chosen), over=TABLE):
        check(statement, most=MOST_TO_COUNT)
    for statement in statements(partial(record_rows, action), over=TABLE):
        check(statement, most=11_000 * PAGES_PER_ITEM if "INSERT" in statement else MOST_TO_COUNT)
    action.refresh_from_db()
    record_rows(action)
    assert action.total == (6_000 if {"code", "category"} & set(chosen) else 11_000)
    BulkAction.objects.filter(pk=action.pk).start(count=action.eligible)
    running = BulkAction.objects.claim()
    assert running
    for statement in statements(partial(run_batch, running), over=TABLE):
        check(statement, most=RETRY.batch * PAGES_PER_MOVE)
    BulkAction.objects.filter(pk=action.pk).cancel()
