"""Owners take turns, no owner has more running jobs than allowed, and a worker stays free for other owners."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.priorities import Priority
from kilit.workers.models import Heartbeat
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
        owners += claimed.owner.username
        if end:
            PdfJob.objects.held_by(claimed).fail(code=ErrorCode.UNKNOWN, detail="")
    return owners


def test_an_owner_with_many_jobs_does_not_delay_the_others() -> None:
    make_jobs("a", 4)
    make_jobs("b", 1)
    make_jobs("c", 2)

    assert claim_all(end=True) == "abcacaa"


def test_the_owner_with_the_fewest_running_jobs_comes_first() -> None:
    make_jobs("a", 3)
    PdfJob.objects.update(queued_at=Now() - timedelta(hours=1))
    new_job(some_user("b"))

    assert [job.owner.username for _ in range(3) for job in PdfJob.objects.claim()] == ["a", "b", "a"]


def test_priority_decides_among_the_jobs_of_an_owner() -> None:
    make_jobs("b", 2)
    low, urgent = (
        new_job(some_user("a"), 1, priority=Priority.LOW),
        new_job(some_user("a"), 2, priority=Priority.URGENT),
    )

    claimed = [work.claim().pk for _ in range(4)]

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


def claim_twice_at_once(in_threads: Any) -> list[int]:
    """Claim, and claim again before the first claim is committed; return how many jobs each got."""
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

    return in_threads(claim, count=2)


@pytest.mark.django_db(transaction=True)
def test_two_claims_at_once_do_not_pass_the_limit(settings, in_threads) -> None:
    settings.PDF_JOBS_PER_OWNER = 1
    make_jobs("a", 2)

    assert claim_twice_at_once(in_threads) == [1, 0]


def make_another_owner() -> None:
    """Store a job of another owner that is over."""
    make_jobs("other", 1)
    PdfJob.objects.due().expire()


def test_an_owner_who_is_alone_gets_all_workers(settings) -> None:
    settings.WORKERS, settings.PDF_FREE_WORKERS = 2, 1
    make_jobs("a", 2)

    assert claim_all(end=False) == "aa"


@pytest.mark.parametrize(("workers", "claimed"), [([1], "aaaaa"), ([2], "a"), ([3], "aa"), ([2, 2], "aaa")])
def test_one_owner_gets_all_workers_but_one(settings, workers: list[int], claimed: str) -> None:
    settings.PDF_FREE_WORKERS = 1
    for number, count in enumerate(workers):
        Heartbeat.objects.create(name=f"machine-{number}", workers=count, alive_at=Now())
    make_another_owner()
    Heartbeat.objects.create(name="gone", workers=8, alive_at=Now() - timedelta(hours=1))
    make_jobs("a", 5)

    assert claim_all(end=False) == claimed


def test_the_last_worker_is_for_an_owner_who_has_none_running(settings) -> None:
    settings.WORKERS, settings.PDF_FREE_WORKERS = 3, 1
    make_another_owner()
    urgent = make_jobs("a", 5, priority=Priority.URGENT)
    assert claim_all(end=False) == "aa"

    make_jobs("b", 2)
    assert claim_all(end=False) == "b"
    PdfJob.objects.filter(pk=urgent[0].pk).fail(code=ErrorCode.UNKNOWN, detail="")
    assert claim_all(end=False) == ""

    PdfJob.objects.filter(pk=urgent[1].pk).fail(code=ErrorCode.UNKNOWN, detail="")
    assert claim_all(end=False) == "a"


@pytest.mark.django_db(transaction=True)
def test_claims_at_once_do_not_take_the_free_worker(settings, in_threads) -> None:
    settings.WORKERS, settings.PDF_FREE_WORKERS = 2, 1
    make_another_owner()
    make_jobs("a", 2)

    assert claim_twice_at_once(in_threads) == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_many_claims_at_once_leave_one_worker_free(settings, in_threads) -> None:
    settings.WORKERS, settings.PDF_FREE_WORKERS = 4, 1
    make_another_owner()
    for _ in range(5):
        make_jobs("a", 6)
        barrier = threading.Barrier(6)

        def claim(_: int, barrier: threading.Barrier = barrier) -> int:
            barrier.wait(timeout=PATIENCE)
            return len(PdfJob.objects.claim())

        assert sum(in_threads(claim, count=6)) == 3

        PdfJob.objects.filter(status="running").fail(code=ErrorCode.UNKNOWN, detail="")
        PdfJob.objects.due().expire()


@pytest.mark.django_db(transaction=True)
def test_without_a_limit_claims_do_not_wait_for_each_other(in_threads) -> None:
    jobs = make_jobs("a", 2)

    with transaction.atomic():
        (first,) = PdfJob.objects.claim()
        ((second,),) = in_threads(lambda _: PdfJob.objects.claim(), count=1)

    assert [first, second] == jobs
