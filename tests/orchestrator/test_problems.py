"""Limits that operators watch, as problems: how long machines take, and how many orders are on HOLD."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.problems.queues import triage
from kilit.problems.registry import Problem, find_problems
from orchestrator.models import Job
from tests.support.cutting_jobs import CUTTING_JOBS, make_job
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db


def found(user: object, kind: str) -> list[Problem]:
    return [problem for problem in find_problems(user) if problem.kind == kind]


def test_more_than_five_jobs_on_hold_are_a_problem_of_their_own(admin_user) -> None:
    for number in range(6):
        assert found(admin_user, "many-on-hold") == []
        job = make_job(order_id=f"S-{number}")
        Job.objects.filter(pk=job.pk).move("hold", error_code="E_CRM_NO_MATCH", error_message=f"{number}")

    (problem,) = found(admin_user, "many-on-hold")

    assert (problem.title, problem.count) == ("6 cutting jobs need approval", 6)
    assert [(line.kind, line.count) for line in triage(admin_user) if line.part == "cutting_job"] == [("hold", 6)]


@pytest.mark.parametrize(
    ("state", "limit", "title"),
    [
        ("OPTI_RUNNING", 20, "OptiPlanning has worked on a job for too long"),
        ("XML_READY", 5, "The saw does not answer"),
    ],
)
def test_a_machine_that_takes_longer_than_the_rules_allow_is_a_problem(admin_user, state, limit, title) -> None:
    column, kind = {
        "OPTI_RUNNING": ("opti_started_at", "optiplanning-overdue"),
        "XML_READY": ("handed_at", "saw-overdue"),
    }[state]
    jobs = Job.objects.filter(pk=CUTTING_JOBS.row_in(state).pk)
    jobs.update(next_run_at=Now(), **{column: Now() - timedelta(minutes=limit - 1)})
    assert found(admin_user, kind) == []

    jobs.update(**{column: Now() - timedelta(minutes=limit + 1)})

    (problem,) = found(admin_user, kind)
    assert (problem.title, problem.cause) == (title, f"longer than the {limit} minutes of the rules")
    jobs.update(next_run_at=Now() - timedelta(minutes=6))  # no runner looks after it
    assert [line.kind for line in triage(admin_user) if line.part == "cutting_job"] == [kind]


def test_a_large_share_of_the_days_orders_on_hold_is_a_problem_for_alerts(admin_client, admin_user) -> None:
    jobs = [make_job(order_id=f"S-{number}") for number in range(20)]
    for job in jobs[:2]:
        Job.objects.filter(pk=job.pk).move("hold", error_code="E_CRM_NO_MATCH", error_message="no")

    (problem,) = found(admin_user, "held-share")

    assert (problem.title, problem.cause) == (
        "10 % of the orders of the last 24 hours need approval",
        "2 of 20 orders",
    )
    assert problem.title not in text_of(admin_client, "/admin/"), "the dashboard lists the jobs by reason"
