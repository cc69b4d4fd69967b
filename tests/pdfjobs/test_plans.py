"""Query plans with many finished jobs: frequent queries never scan them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from kilit.workers.doorbells import doorbells
from pdfjobs import cleanup, enqueue, metrics, work
from pdfjobs.models import PdfJob
from pdfjobs.operations import FILTERS
from tests.support.crowded_pdf_jobs import FILL, MOST_BUFFERS, TABLE, crowded  # noqa: F401 - a fixture
from tests.support.pdf_jobs import new_job, some_user
from tests.support.plans import blocks, crowding, explained, statements, walked

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

FEW = 100
NOW = timezone.now()


def page(owner: int, *, status: str | None = None, after: Any = None, before: Any = None) -> list[PdfJob]:
    rows = PdfJob.objects.listed_for(User(pk=owner), status=status, cursor=None)
    return list(rows.created_between(after, before)[:51])


def owner_of_the_oldest() -> int:
    """Return a user who owns one job, the last to be found when the table is walked from its newest row."""
    user = some_user("rare")
    job = new_job(user, pk=UUID(int=0))
    assert job == PdfJob.objects.order_by("id").first()
    return user.pk


def test_nothing_that_runs_all_day_walks_the_finished_jobs(crowded: int, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr(cleanup.artifacts, "delete", lambda _: None)
    rows = PdfJob.objects.order_by("-id")
    rare = owner_of_the_oldest()
    chores: dict[str, Callable[[], Any]] = {
        "is due": doorbells[work.BELL].is_due,
        "the oldest, for metrics": metrics.oldest_queued,
        "claim": PdfJob.objects.claim,
        "reap": PdfJob.objects.recover,
        "cleanup": cleanup.clean,
        "look before cleanup": lambda: cleanup.preview(ttl=timedelta(hours=24)),
        "depth": lambda: enqueue.read_state(User(pk=crowded)),
        "live key": lambda: PdfJob.objects.filter(owner=crowded, job_key="k5").live().first(),
        "list": lambda: list(rows[:50]),
        "list of a state": lambda: list(rows.filter(status="failed")[:50]),
        "list of a code": lambda: list(rows.filter(status="failed", error_code="UNKNOWN")[:50]),
        "list of a template": lambda: list(rows.filter(template_name="offer")[:50]),
        "own list": lambda: page(crowded),
        "own list of a state": lambda: page(crowded, status="failed"),
        "own list of a state that is rare": lambda: page(rare, status="succeeded"),
        "own list of one with few": lambda: page(rare),
        "own list of a time": lambda: page(crowded, status="expired", after=NOW - timedelta(days=1), before=NOW),
        "search by key": lambda: FILTERS.search.first(rows, f"{7:064}"),
        "search by number": lambda: FILTERS.search.first(rows, "n-77"),
        "search by recipient": lambda: FILTERS.search.first(rows, "ege mob"),
        "search by owner": lambda: FILTERS.search.first(rows, some_user().username[:3]),
    }

    for name, chore in chores.items():
        ran = statements(chore, over=TABLE)
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            # Of what most rows match, the first are found at once.
            assert walked(plan, TABLE) == [] or blocks(plan) < FEW, (name, statement)
            assert blocks(plan) < MOST_BUFFERS, (name, blocks(plan))
    assert walked(explained("SELECT id FROM pdfjobs_pdfjob WHERE error_detail = 'x'"), TABLE) != []


def test_a_claim_reads_the_beginning_of_a_long_queue(sql) -> None:
    """In the order of turns an index gives the first; a sort would read them all."""
    with crowding(TABLE):
        sql(FILL, some_user().pk, 1, 20_000, "queued")
        sql("UPDATE pdfjobs_pdfjob SET priority = (ARRAY[-1, 0, 1, 24])[1 + mod(abs(hashtext(job_key)), 4)]")

    (statement,) = statements(PdfJob.objects.claim, over=TABLE)

    assert blocks(explained(statement)) < 200


def test_a_claim_reads_a_few_pages_for_each_owner_with_waiting_jobs(sql) -> None:
    owners = User.objects.bulk_create(User(username=f"owner-{number}") for number in range(100))
    with crowding(TABLE):
        for number, owner in enumerate(owners):
            sql(FILL, owner.pk, number * 300, number * 300 + 299, "queued")

    (statement,) = statements(lambda: PdfJob.objects.claim(served=[owner.pk for owner in owners]), over=TABLE)

    assert blocks(explained(statement)) < 2_000
