"""The runner: claims, waiting, lapsed leases, faults and the one slot."""

import json
import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from kilit.lock.guard import MoveRefused
from kilit.lock.leases import MOST_LAPSES, ClaimLost, new_lease
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.states import WORKING
from orchestrator.workflow import runner
from orchestrator.workflow.decisions import cancel
from orchestrator.workflow.runner import due_rows, tick
from tests.support.cutting_jobs import CUTTING_JOBS, make_job
from tests.support.cutting_runs import command, let_leases_lapse, player, work_until
from tests.support.waiting import wait_for_the_end

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

row_in = CUTTING_JOBS.row_in


# Claims


def test_the_job_that_is_due_longest_is_claimed_with_a_token() -> None:
    jobs = [make_job(revision=number) for number in range(3)]
    Job.objects.filter(pk=jobs[2].pk).update(next_run_at=Now() - timedelta(hours=1))
    Job.objects.filter(pk=jobs[0].pk).update(next_run_at=Now() + timedelta(hours=1))

    claimed = [Job.objects.claim(), Job.objects.claim(), Job.objects.claim()]

    assert [job and job.pk for job in claimed] == [jobs[2].pk, jobs[1].pk, None]
    assert claimed[0].claim_token
    assert claimed[0].lease_until


def test_sixteen_runners_claim_each_job_once(transactional_db, in_threads) -> None:
    for number in range(40):
        make_job(revision=number)

    def claim_all(_: int) -> list[object]:
        return [job.pk for job in iter(Job.objects.claim, None)]

    claimed = [pk for haul in in_threads(claim_all, count=16) for pk in haul]

    assert len(claimed) == len(set(claimed)) == 40


@pytest.mark.parametrize("state", WORKING)
def test_a_job_is_taken_up_in_whatever_state_it_was_left(state) -> None:
    job = row_in(state)
    Job.objects.filter(pk=job.pk).update(next_run_at=Now())

    assert Job.objects.claim().pk == job.pk


@pytest.mark.parametrize("state", ["HOLD", "FAILED", "DONE"])
def test_a_job_at_rest_is_never_claimed(state) -> None:
    row_in(state)

    assert Job.objects.claim() is None


def test_a_claim_needs_a_lease_and_a_job_at_rest_has_none() -> None:
    job, resting = make_job(), row_in("DONE")

    with pytest.raises(IntegrityError, match="job_claim_has_a_lease"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(lease_until=Now())
    with pytest.raises(IntegrityError, match="job_at_rest_is_held_by_nobody"), transaction.atomic():
        Job.objects.filter(pk=resting.pk).update(**new_lease(timedelta(minutes=1)))


# Leases


def test_a_lapsed_claim_is_released_and_the_job_goes_on(floor, customer) -> None:
    make_job(opti_mode="C")
    dead = Job.objects.claim()
    let_leases_lapse()

    tick(patient=True)

    dead.refresh_from_db()
    assert dead.status == "HOLD"


def test_a_swept_runner_can_neither_move_nor_release_nor_renew() -> None:
    make_job()
    swept = Job.objects.claim()
    let_leases_lapse()
    assert Job.objects.release_lapsed() == 1
    other = Job.objects.claim()

    with pytest.raises(MoveRefused, match="under another claim"):
        swept.advance("prepare", "")
    swept = Job.objects.get(pk=other.pk)
    swept.claim_token = new_lease(timedelta(0))["claim_token"]
    with pytest.raises(ClaimLost):
        swept.renew()
    with pytest.raises(ClaimLost):
        swept.note(opti_ended_at=Now())
    assert not swept.release()
    assert not Job.objects.take_slot(swept)
    other.refresh_from_db()
    assert other.claim_token is not None


def test_a_runner_without_a_claim_moves_nothing() -> None:
    job = Job.objects.get(pk=make_job().pk)

    for verb in (lambda: job.advance("prepare", ""), lambda: job.fail(JobError(Code.UNKNOWN, "no"))):
        with pytest.raises(MoveRefused):
            verb()
    assert not job.release()


def test_a_live_claim_is_left_alone() -> None:
    make_job()
    Job.objects.claim()

    assert Job.objects.release_lapsed() == 0


def test_a_stale_claim_at_the_head_never_starves_the_rest(floor, customer) -> None:
    """Before any sweep has run."""
    head, *rest = [make_job(opti_mode="C", revision=number) for number in range(4)]
    assert Job.objects.claim().pk == head.pk

    tick(patient=True)

    assert {job.status for job in Job.objects.filter(pk__in=[job.pk for job in rest])} == {"HOLD"}


def test_a_job_that_takes_every_runner_down_comes_to_an_end() -> None:
    job = make_job()

    for _ in range(MOST_LAPSES):
        assert Job.objects.claim().pk == job.pk
        let_leases_lapse()
        release_lapsed()

    job.refresh_from_db()
    assert (job.status, job.error_code, job.claim_token) == ("FAILED", "E_UNKNOWN", None)


def test_waiting_holds_no_claim(floor, customer, settings) -> None:
    """For the slot, for the XML and for the saw."""
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    busy, waiting = make_job(), make_job(revision=1)

    tick(patient=True)

    for job, state in ((busy, "OPTI_RUNNING"), (waiting, "OPTI_IMPORTED")):
        job.refresh_from_db()
        assert (job.status, job.claim_token, job.retry_count, job.error_code) == (state, None, 0, "")
        assert job.next_run_at > job.created_at


# Patience


def test_workers_leave_to_the_patient_runner_what_takes_long(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job, by_hand = make_job(), make_job(opti_mode="C")

    assert any(rows.exists() for rows in due_rows())
    runner.handle_bell()

    job.refresh_from_db()
    by_hand.refresh_from_db()
    assert (job.status, job.claim_token) == ("OPTI_IMPORTED", None)
    assert by_hand.status == "HOLD"
    assert not any(rows.exists() for rows in due_rows())
    work_until(job, "DONE", machines=player(floor, only="saw"))


def test_a_cancelled_job_ends_its_program(floor, customer, settings, monkeypatch, tmp_path) -> None:
    """The renewal finds the claim gone, and the whole group is killed."""
    monkeypatch.setattr(runner, "RENEW_EVERY", 0.1)
    pid = tmp_path / "pid"
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", f"echo $$ > {pid}; exec sleep 60"])
    job = make_job()

    def cancel_when_running() -> bool:
        if pid.exists() and pid.read_text().strip() and Job.objects.filter(status="OPTI_RUNNING").exists():
            cancel(job.pk)
        return False

    assert tick(patient=True, stopping=cancel_when_running) == 1

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_CANCELLED")
    wait_for_the_end(int(pid.read_text()))


def test_a_runner_asked_to_stop_lets_go_and_the_next_starts_again(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", "hang")
    job = make_job()
    stopping = threading.Event()

    def stop_when_running() -> bool:
        if Job.objects.filter(status="OPTI_RUNNING").exists():
            stopping.set()
        return stopping.is_set()

    tick(patient=True, stopping=stop_when_running)
    job.refresh_from_db()
    assert (job.status, job.claim_token, job.opti_ended_at) == ("OPTI_RUNNING", None, None)

    settings.OPTI_COMMAND = command(floor)
    work_until(job, "DONE", machines=player(floor, only="saw"))
