"""The saw refuses, is mute or away, and never cuts an order twice."""

import json
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from django.db.models.functions import Now

from kilit.api.errors import ApiError
from kilit.lock.leases import MOST_LAPSES
from orchestrator.models import Job
from orchestrator.saw import delivery, saw_handover
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.workflow import steps
from orchestrator.workflow.decisions import cancel, hand_over, retry
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import make_job
from tests.support.cutting_runs import command, due_again, let_leases_lapse, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]


def handed_over(floor, settings) -> Job:
    """Return a job whose file lies before the saw, and that is due again."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    assert len(list(floor.inbox.iterdir())) == 1
    due_again(job)
    return job


def test_a_saw_that_refuses_fails_the_job_and_a_retry_delivers_the_same_solution(floor, customer, settings) -> None:
    """OptiPlanning does not run a second time, and the second name is another one."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "FAILED", machines=player(floor, only="saw", saw_fault="failed"))
    assert job.error_code == "E_OSI_ACK_FAILED"
    solved, first_name = job.xml_sha256, job.delivery_names

    settings.OPTI_COMMAND = ""
    for path in floor.export.iterdir():
        path.unlink()  # the solution is kept elsewhere
    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert (job.xml_sha256, job.retry_count) == (solved, 1)
    assert job.delivery_names != first_name
    assert len(list(floor.processed.iterdir())) == 1


def test_a_mute_saw_fails_the_job_after_its_time_and_the_file_is_taken_back(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(minutes=6), next_run_at=Now())

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_OSI_ACK_TIMEOUT")
    assert list(floor.inbox.iterdir()) == []


def test_an_answer_that_came_while_no_one_ran_counts(floor, customer, settings) -> None:
    """Even when it is found long after the time."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    player(floor, only="saw").look()
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(hours=9), next_run_at=Now())

    tick(patient=True)

    job.refresh_from_db()
    assert job.status == "DONE"


@pytest.mark.parametrize("taken", [True, False], ids=["taken meanwhile", "still in the inbox"])
def test_a_retry_never_has_an_order_cut_twice(floor, customer, settings, taken) -> None:
    """A job that failed by surprise while the saw had its file: the file is settled before another is handed over."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    due_again(job)
    with patch.object(steps, "collect_answers", side_effect=ZeroDivisionError):
        tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_UNKNOWN")
    if taken:
        player(floor, only="saw").look()

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1
    assert list(floor.inbox.iterdir()) == []
    (name,) = job.solution_files.values_list("acknowledged_as", flat=True)
    assert (floor.processed / name).exists()


def stuck_in_the_inbox(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("taken", [True, False], ids=["taken meanwhile", "still in the inbox"])
def test_a_file_that_could_not_be_taken_back_is_never_cut_twice(floor, customer, settings, taken) -> None:
    """OptiPlanning names its exports by the time, and the saw held its file open when we wanted it back."""
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", EXPORT_BY_TIME.format(floor.export), "optiplanning"])
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(minutes=6), next_run_at=Now())
    with patch.object(Path, "replace", stuck_in_the_inbox):
        tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_HANDOVER_UNKNOWN")
    first = job.delivery_names
    assert [path.name for path in floor.inbox.iterdir()] == job.open_deliveries == first
    if taken:
        player(floor, only="saw").look()

    with pytest.raises(ApiError, match="the saw may have cut it"):
        retry(job.pk)
    hand_over(job.pk)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.export.iterdir())) == 1, "OptiPlanning ran again"
    assert len(list(floor.processed.iterdir())) == 1
    assert list(floor.inbox.iterdir()) == []
    assert job.delivery_names[: len(first)] == first


@pytest.mark.parametrize("here", [True, False])
def test_a_job_that_cost_too_many_runners_is_taken_back_from_the_saw(floor, customer, settings, here) -> None:
    """A job that says FAILED is not cut; a machine that cannot reach the folder leaves it to one that can."""
    job = handed_over(floor, settings)
    assert Job.objects.claim().pk == job.pk
    Job.objects.filter(pk=job.pk).update(lapse_count=MOST_LAPSES - 1)
    let_leases_lapse()
    settings.FLOOR_IS_HERE = here

    assert release_lapsed() == 1

    job.refresh_from_db()
    assert job.status == ("FAILED" if here else "XML_READY")
    assert len(list(floor.inbox.iterdir())) == (0 if here else 1)


EXPORT_BY_TIME = 'echo "<a><Solution/></a>" > {}/$(basename "$1" | cut -c-36)_$(date +%s%N).xml'


def test_a_saw_that_is_away_is_waited_for(floor, customer, settings) -> None:
    """A share that is away for a minute fails no job."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    away = floor.saw.with_name("away")
    floor.saw.rename(away)
    work_until(job, "XML_READY", "FAILED")
    tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.claim_token, job.handed_at) == ("XML_READY", None, None)

    away.rename(floor.saw)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1


def test_a_share_that_refuses_to_look_is_waited_for(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(saw_handover, "settle_earlier_attempts", side_effect=OSError(116, "Stale file handle")):
        work_until(job, "XML_READY", "FAILED")
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.handed_at) == ("XML_READY", None)


def test_a_saw_that_stays_away_fails_the_job_and_the_solution_is_kept(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    away = floor.saw.with_name("away")
    floor.saw.rename(away)
    work_until(job, "XML_READY", "FAILED")
    Job.objects.filter(pk=job.pk).update(xml_ready_at=Now() - timedelta(minutes=6), next_run_at=Now())
    tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_OSI_ACK_TIMEOUT")
    assert "5 min" in job.error_message

    away.rename(floor.saw)
    settings.OPTI_COMMAND = ""
    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1


def test_names_are_noted_before_the_saw_can_see_them(floor, customer, settings) -> None:
    """Whatever happens while files are laid, they are found again."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(delivery, "place", side_effect=ZeroDivisionError):
        work_until(job, "FAILED")

    assert len(job.delivery_names) == 1
    assert (job.error_code, job.open_deliveries) == ("E_HANDOVER_UNKNOWN", job.delivery_names)


def test_a_failure_with_a_file_in_the_inbox_takes_it_back(floor, customer, settings) -> None:
    """A failed job should not be cut behind everybody's back."""
    job = handed_over(floor, settings)

    with patch.object(steps, "collect_answers", side_effect=ZeroDivisionError):
        tick(patient=True)

    job.refresh_from_db()
    assert job.status == "FAILED"
    assert list(floor.inbox.iterdir()) == []


def test_a_cancelled_retry_takes_back_what_someone_put_back_into_the_inbox(floor, customer, settings) -> None:
    job = handed_over(floor, settings)
    player(floor, only="saw", saw_fault="failed").look()
    work_until(job, "FAILED")
    retry(job.pk)
    (rejected,) = floor.failed.iterdir()
    rejected.rename(floor.inbox / rejected.name)

    cancel(job.pk)

    assert list(floor.inbox.iterdir()) == []


def test_a_solution_that_the_saw_took_is_never_replaced(floor, customer, settings, tmp_path) -> None:
    """The rules changed after the saw took the file unheard: the order is cut, so it is not solved again."""
    good = settings.OPTI_RULES.read_text()
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(good)
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    due_again(job)
    player(floor, only="saw").look()
    with patch.object(steps, "collect_answers", side_effect=ZeroDivisionError):
        tick(patient=True)
    settings.OPTI_RULES.write_text(good.replace('"18": 10', '"18": 12'))

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1
