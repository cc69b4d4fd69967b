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
from tests.support.cutting_handover import handed_over, too_late
from tests.support.cutting_jobs import make_job
from tests.support.cutting_runs import command, due_again, let_leases_lapse, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once", "customer")]


def test_a_saw_that_refuses_fails_the_job_and_a_retry_delivers_the_same_solution(floor, settings) -> None:
    """OptiPlanning neither runs a second time nor gets the sheets again, and the second name is another one."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "FAILED", machines=player(floor, only="saw", saw_fault="failed"))
    assert job.error_code == "E_OSI_ACK_FAILED"
    solved, first_name = job.xml_sha256, job.delivery_names

    settings.OPTI_COMMAND = ""
    for path in (*floor.imports.iterdir(), *floor.export.iterdir()):
        path.unlink()  # the solution is kept elsewhere
    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert (job.xml_sha256, job.retry_count) == (solved, 1)
    assert job.delivery_names != first_name
    assert len(list(floor.processed.iterdir())) == 1
    assert list(floor.imports.iterdir()) == []


def test_an_answer_that_came_while_no_one_ran_counts(floor, settings) -> None:
    """Even when it is found long after the time."""
    job = handed_over(floor, settings)
    player(floor, only="saw").look()
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(hours=9), next_run_at=Now())

    tick(patient=True)

    job.refresh_from_db()
    assert job.status == "DONE"


@pytest.mark.parametrize(
    ("is_taken", "trim"),
    [(True, 10), (True, 12), (False, 10)],
    ids=["taken unheard", "taken unheard, and the rules changed since", "still in the inbox"],
)
def test_a_retry_never_has_an_order_cut_twice(floor, settings, rules_file, is_taken, trim) -> None:
    """A job that fails by surprise while the saw has its file: what is not cut yet is taken back."""
    job = handed_over(floor, settings)
    if is_taken:
        player(floor, only="saw").look()
    with patch.object(steps, "collect_answers", side_effect=ZeroDivisionError):
        tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_UNKNOWN")
    assert list(floor.inbox.iterdir()) == [], "a failed job should not be cut behind everybody's back"
    rules_file.write_text(rules_file.read_text().replace('"18": 10', f'"18": {trim}'))

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
def test_a_file_that_could_not_be_taken_back_is_never_cut_twice(floor, settings, taken) -> None:
    """OptiPlanning names its exports by the time, and the saw held its file open when we wanted it back."""
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", EXPORT_BY_TIME.format(floor.export), "optiplanning"])
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    too_late(job)
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
def test_a_job_that_cost_too_many_runners_is_taken_back_from_the_saw(floor, settings, here) -> None:
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


def test_a_saw_that_is_away_is_waited_for(floor, settings) -> None:
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


def test_a_share_that_refuses_to_look_is_waited_for(floor, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(saw_handover, "settle_earlier_attempts", side_effect=OSError(116, "Stale file handle")):
        work_until(job, "XML_READY", "FAILED")
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.handed_at) == ("XML_READY", None)


def test_a_saw_that_stays_away_fails_the_job_and_the_solution_is_kept(floor, settings) -> None:
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


def test_names_are_noted_before_the_saw_can_see_them(floor, settings) -> None:
    """Whatever happens while files are laid, they are found again."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(delivery, "place", side_effect=ZeroDivisionError):
        work_until(job, "FAILED")

    assert len(job.delivery_names) == 1
    assert (job.error_code, job.open_deliveries) == ("E_HANDOVER_UNKNOWN", job.delivery_names)


def test_a_cancelled_retry_takes_back_what_someone_put_back_into_the_inbox(floor, settings) -> None:
    job = handed_over(floor, settings)
    player(floor, only="saw", saw_fault="failed").look()
    work_until(job, "FAILED")
    retry(job.pk)
    (rejected,) = floor.failed.iterdir()
    rejected.rename(floor.inbox / rejected.name)

    cancel(job.pk)

    assert list(floor.inbox.iterdir()) == []
