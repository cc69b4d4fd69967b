"""OptiPlanning runs one job at a time."""

import threading
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from orchestrator.models import Job
from orchestrator.workflow.decisions import approve, cancel
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import CUTTING_JOBS, make_job
from tests.support.cutting_runs import command, due_again
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

row_in = CUTTING_JOBS.row_in


def test_two_jobs_can_never_be_running() -> None:
    row_in("OPTI_RUNNING")
    second = make_job()
    second.move("prepare")
    second.move("import_files", imported_at=Now())

    with pytest.raises(IntegrityError, match="one_opti_running"), transaction.atomic():
        second.move("start", opti_started_at=Now(), attempt_started_at=Now())


def race_for_the_slot(in_threads: Any, count: int) -> list[bool]:
    """Let runners claim a job each, and all reach for the slot at once; return who got it."""
    for number in range(count):
        job = make_job(revision=number)
        job.move("prepare", attempt_started_at=Now())
        job.move("import_files", imported_at=None)  # no job has waited longer
    start = threading.Barrier(count)

    def race(_: int) -> bool:
        held = Job.objects.claim()
        start.wait(timeout=PATIENCE)
        return Job.objects.take_slot(held)

    return sorted(in_threads(race, count=count))


def test_of_runners_that_race_for_the_slot_one_gets_it_and_no_one_fails(transactional_db, in_threads) -> None:
    """Both looked before either took it; the index answers the second."""
    assert race_for_the_slot(in_threads, 6) == [False] * 5 + [True]
    assert Job.objects.filter(status="OPTI_RUNNING").count() == 1
    assert Job.objects.filter(status="OPTI_IMPORTED", error_code="").count() == 5


def test_without_the_look_before_the_index_alone_lets_one_in(transactional_db, in_threads) -> None:
    """The race is real: without the check first, the losers meet the index."""
    # Around all threads: patches that overlap put back each other's.
    with patch.object(type(Job.objects.all()), "waiting_for_slot", lambda self: self.none()):
        assert race_for_the_slot(in_threads, 4) == [False] * 3 + [True]


def test_the_job_that_waited_longest_gets_the_slot(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    jobs = [make_job(revision=number) for number in range(3)]
    tick(patient=True)
    due_again(jobs[2])
    cancel(jobs[0].pk)

    tick(patient=True)

    assert [Job.objects.get(pk=job.pk).status for job in jobs] == ["FAILED", "OPTI_RUNNING", "OPTI_IMPORTED"]


def test_a_free_slot_wakes_the_job_that_waits_longest(floor, customer, settings) -> None:
    """No job sleeps through a free slot."""
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    busy, waiting = make_job(), make_job(revision=1)
    tick(patient=True)
    waiting.refresh_from_db()
    assert waiting.next_run_at > Job.objects.values_list(Now(), flat=True)[0]
    cancel(busy.pk)

    tick(patient=True)

    waiting.refresh_from_db()
    assert waiting.status == "OPTI_RUNNING"


def test_an_order_without_a_runner_blocks_no_other_order(floor, customer) -> None:
    """Mode A without a patient runner waits; mode C goes on."""
    left, by_hand = make_job(), make_job(opti_mode="C")
    tick(patient=False)
    approve(by_hand.pk)
    tick(patient=False)
    assert Job.objects.get(pk=by_hand.pk).status == "OPTI_IMPORTED"

    Job.objects.filter(pk=left.pk).update(next_run_at=Now() - timedelta(minutes=2))
    tick(patient=False)

    assert Job.objects.get(pk=by_hand.pk).status == "OPTI_RUNNING"
    assert Job.objects.get(pk=left.pk).status == "OPTI_IMPORTED"
