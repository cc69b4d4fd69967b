"""A cancelled job ended as someone wanted: it is no error, and may still be retried."""

import pytest

from kilit.lock.models import Count, ErrorGroup
from kilit.problems.registry import find_problems
from orchestrator.models import Job
from orchestrator.queue import QUEUE
from orchestrator.workflow.decisions import cancel, retry
from tests.support.cutting_jobs import LIST, failed, make_job, page_of

pytestmark = pytest.mark.django_db


def badly_and_expected() -> tuple[int, int]:
    hours = Count.objects.last_day(queue="cutting_job", well=["DONE"], badly=["FAILED"])
    return sum(hour.badly for hour in hours), sum(hour.expected for hour in hours)


def cancelled(number: int = 0) -> Job:
    return cancel(make_job(order_id=f"C-{number}").pk)


def test_cancelled_jobs_are_not_in_failure_rates(admin_user, monkeypatch) -> None:
    monkeypatch.setitem(vars(QUEUE), "fewest_ended", 1)
    for number in range(3):
        cancelled(number)

    assert badly_and_expected() == (3, 3)
    assert [problem.kind for problem in find_problems(admin_user) if problem.part == "cutting_job"] == []


def test_a_retry_of_a_cancelled_job_that_is_cancelled_again_is_expected_too(floor) -> None:
    job = cancelled()
    retry(job.pk)
    cancel(job.pk)

    assert badly_and_expected() == (2, 2)


def test_their_group_and_their_page_say_that_nothing_is_wrong(make_person) -> None:
    operator, job = make_person(), cancelled()

    (group,) = operator.get(f"{LIST}groups/").context["groups"]
    shown = page_of(operator, job)

    assert (group.entry.is_expected, group.action) == (True, None)
    assert {blocker.kind for blocker in shown.context["blockers"]} == {"ended"}
    assert "Retry to continue" in shown.text
    assert str(shown.context["primary"].title) == "Retry"


def test_the_export_of_failed_jobs_leaves_them_out(make_person) -> None:
    cancelled()
    failed()

    lines = b"".join(make_person().get(f"{LIST}dead-letters/")).decode()

    assert "E_XML_INVALID" in lines
    assert "E_CANCELLED" not in lines


def test_what_else_fails_is_counted_as_before() -> None:
    failed()

    assert badly_and_expected() == (1, 0)
    assert [group.code for group in ErrorGroup.objects.largest(queue="cutting_job")] == ["E_XML_INVALID"]
