"""Query plans among many finished jobs: what runs every second never walks them."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator import metrics
from orchestrator.api import presenters
from orchestrator.filters import FILTERS
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.schemas.jobs import CuttingJobsQuery
from orchestrator.states import JobState
from orchestrator.workflow.runner import due_rows
from tests.support.crowded_cutting_jobs import FILL, TABLE, crowded  # noqa: F401 - a fixture
from tests.support.plans import blocks, crowding, explained, statements, walked

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

FEW = 100  # blocks; the table has thousands

WARNED = {"warning": "W_PART_EXCEEDS_PLATE"}
QUESTIONS: dict[str, Callable[[], Any]] = {
    "the oldest, for metrics": metrics.oldest_due,
    "who waits for OptiPlanning and the saw, for metrics": metrics.waiting_since,
    "share on HOLD, for metrics": metrics.held_share,
    "claim": Job.objects.claim,
    "claim of the workers": lambda: Job.objects.quick().claim(),
    "is anything due": lambda: [rows.exists() for rows in due_rows()],
    "wake the next": Job.objects.wake_next,
    "release lapsed": release_lapsed,
    "list": lambda: presenters.job_page(CuttingJobsQuery()),
    "list of a state": lambda: presenters.job_page(CuttingJobsQuery(state=JobState.HOLD)),
    "search by order": lambda: FILTERS.search.first(Job.objects.all(), "s-77"),
    "search by phone": lambda: FILTERS.search.first(Job.objects.all(), "0532 99"),
    "list of a warning": lambda: list(
        FILTERS.apply(Job.objects.all(), WARNED).order_by(*FILTERS.ordering(WARNED), "-id")[:3]
    ),
    "search by a phone that all have": lambda: FILTERS.search.first(Job.objects.all(), "0555 12"),
    "search by customer": lambda: FILTERS.search.first(Job.objects.all(), "ege"),
    "list of an order": lambda: presenters.job_page(CuttingJobsQuery(order_id="S-7")),
}


def test_nothing_walks_the_finished_jobs(crowded) -> None:  # noqa: F811
    """One test for all, because the rows take longer to make than to be asked for."""
    for question, ask in QUESTIONS.items():
        looked = statements(ask, over=TABLE)

        assert looked, question
        for statement in looked:
            plan = explained(statement)
            # Of what most rows match, the first are found at once.
            assert walked(plan, TABLE) == [] or blocks(plan) < FEW, (question, statement)


def test_a_claim_reads_the_beginning_of_a_long_queue(sql) -> None:
    """In the order of turns an index gives the first; a sort would read them all."""
    with crowding(TABLE):
        sql(FILL, 1, 20_000, "NEW")
        sql("UPDATE orchestrator_job SET priority = (ARRAY[-1, 0, 1, 24])[1 + mod(abs(hashtext(order_id)), 4)]")

    (statement,) = statements(Job.objects.claim, over=TABLE)

    assert blocks(explained(statement)) < 200
