"""Owners take turns, and no owner has more running jobs than allowed."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.priorities import Priority
from pdfjobs import work
from pdfjobs.models import PdfJob
from pdfjobs.states import ErrorCode
from tests.support.pdf_jobs import new_job, some_user
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_process(monkeypatch) -> None:
    monkeypatch.setattr(work, "_served", {})


def make_jobs(name: str, count: int, **columns: Any) -> list[PdfJob]:
    return [new_job(some_user(name), number, **columns) for number in range(count)]


def claim_all(*, end: bool) -> str:
    """Return the owners of the jobs in the order in which a worker claims them; `end` each before the next."""
    owners = ""
    while claimed := work.claim():
        owners += claimed.job.owner.username
        if end:
            PdfJob.objects.held_by(claimed.job).fail(code=ErrorCode.UNKNOWN, detail="")
    return owners


def test_an_owner_with_many_jobs_does_not_delay_the_others() -> None:
    make_jobs("a", 4)
    make_jobs("b", 1)
    make_jobs("c", 2)

    assert claim_all(end=True) == "abcacaa"


def test_the_owner_with_the_fewest_running_jobs_comes_first() -> None:
    make_jobs("a", 3)
    new_job(some_user("b"), queued_at=Now() + timedelta(hours=1))

    assert [job.owner.username for _ in range(3) for job in PdfJob.objects.claim()] == ["a", "b", "a"]


def test_priority_decides_among_the_jobs_of_an_owner() -> None:
    make_jobs("b", 2)
    low, urgent = (
        new_job(some_user("a"), 1, priority=Priority.LOW),
        new_job(some_user("a"), 2, priority=Priority.URGENT),
    )

    claimed = [work.claim().job.pk for _ in range(4)]

    assert claimed.index(urgent.pk) == 0
    assert claimed.index(low.pk) >= 2


def test_an_owner_at_the_limit_waits_until_a_job_ends(settings) -> None:
    settings.PDF_JOBS_PER_OWNER = 2
    make_jobs("a", 4)
    make_jobs("b", 1)

    assert claim_all(end=False) == "aba"
    first = PdfJob.objects.filter(status="running", owner__username="a").first()
    PdfJob.objects.filter(pk=first.pk).fail(code=ErrorCode.UNKNOWN, detail="")

    assert claim_all(end=False) == "a"


@pytest.mark.django_db(transaction=True)
def test_two_claims_at_once_do_not_pass_the_limit(settings, in_threads) -> None:
    settings.PDF_JOBS_PER_OWNER = 1
    make_jobs("a", 2)
    is_claimed = threading.Event()

    def claim(number: int) -> int:
        if number:
            assert is_claimed.wait(timeout=PATIENCE)
            return len(PdfJob.objects.claim())
        with transaction.atomic():
            claimed = PdfJob.objects.claim()
            is_claimed.set()
            wait_until(has_waiter, every=0.01)  # the other cannot know yet whether this claim will be committed
        return len(claimed)

    assert in_threads(claim, count=2) == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_without_a_limit_claims_do_not_wait_for_each_other(in_threads) -> None:
    jobs = make_jobs("a", 2)

    with transaction.atomic():
        (first,) = PdfJob.objects.claim()
        ((second,),) = in_threads(lambda _: PdfJob.objects.claim(), count=1)

    assert [first, second] == jobs
