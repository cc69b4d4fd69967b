"""A file that the saw may have cut or not: an operator decides, and no retry hands it over a second time."""

from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from kilit.lock.models import Event
from orchestrator.models import Job, SolutionFile
from orchestrator.saw.delivery import delivery_name
from orchestrator.workflow import steps
from orchestrator.workflow.decisions import CONFIRM_CUT, HAND_OVER, RETRY, hand_over
from orchestrator.workflow.runner import tick
from tests.support.cutting_handover import is_unknown, of_unknown_handover
from tests.support.cutting_jobs import CUTTING_JOBS, error, lose_sight
from tests.support.cutting_runs import due_again, player, work_until
from tests.support.guarded_columns import write_unguarded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once", "customer")]


# No retry


def test_a_retry_does_not_hand_over_what_the_saw_may_have(floor, api) -> None:
    job = of_unknown_handover(floor)
    assert is_unknown(job)

    answer = api.post(f"jobs/{job.pk}/retry")
    due_again(job)
    tick(patient=True)

    assert (answer.status_code, error(answer)["code"]) == (409, "E_HANDOVER_UNKNOWN")
    assert "the saw may have cut it" in error(answer)["message"]
    assert is_unknown(job)
    assert list(floor.inbox.iterdir()) == []


def test_many_retried_at_once_leave_it_out_with_a_reason() -> None:
    job = CUTTING_JOBS.row_in("FAILED")
    lose_sight(job)

    assert RETRY.skips(Job.objects.all()) == {job.pk: ("FAILED", "E_HANDOVER_UNKNOWN")}
    assert RETRY.apply(None, [job.pk], {}).moved == set()
    assert is_unknown(job)


def test_the_database_refuses_what_no_one_has_decided() -> None:
    job, known = CUTTING_JOBS.row_in("FAILED"), CUTTING_JOBS.row_in("FAILED", xml_sha256="0" * 64)
    lose_sight(job)

    for row, change in {
        (job, "status = 'NEW', open_deliveries = '[]', error_code = ''"),
        (job, "open_deliveries = '[]', error_code = 'E_UNKNOWN'"),
        (known, "status = 'DONE', handed_at = now(), finished_at = now()"),
        (known, "status = 'OPTI_DONE'"),
    }:
        with pytest.raises(IntegrityError, match="files that the saw may have"):
            CUTTING_JOBS.write(row, change)
    for row, change, name in [
        (known, "error_code = 'E_HANDOVER_UNKNOWN'", "unknown_handover_has_its_code"),
        (known, "open_deliveries = '[\"x\"]'", "unknown_handover_has_its_code"),
        (job, "status = 'DONE', handed_at = now(), finished_at = now()", "open_delivery_may_be_with_the_saw"),
        (CUTTING_JOBS.row_in("NEW"), "open_deliveries = '[\"x\"]'", "open_delivery_may_be_with_the_saw"),
    ]:
        with pytest.raises(IntegrityError, match=name):
            CUTTING_JOBS.write(row, change)


# The two answers


def test_it_was_cut_ends_the_job(floor, api) -> None:
    job = of_unknown_handover(floor)
    name = job.open_deliveries[0]

    answer = api.post(f"jobs/{job.pk}/confirm-cut", {"reason": "Murat saw it."})

    job.refresh_from_db()
    event = Event.objects.of(job).last()
    assert (answer.status_code, answer.json()["job"]["state"]) == (200, "DONE")
    assert (job.status, job.error_code, job.open_deliveries) == ("DONE", "", [])
    assert job.finished_at
    assert job.solution_files.get().acknowledged_as == name
    assert (event.event_type, event.details["verb"], event.message) == ("STATE_DONE", "confirm_cut", "Murat saw it.")
    assert event.actor == "key:service-operator:test"
    assert api.post(f"jobs/{job.pk}/confirm-cut").status_code == 409


def test_hand_it_over_again_delivers_the_same_solution_under_a_new_name(floor, api) -> None:
    """Neither OptiPlanning nor a retry is needed, not even when none is left."""
    job = of_unknown_handover(floor)
    first = job.open_deliveries[0]
    write_unguarded(Job.objects.filter(pk=job.pk), retry_count=3)

    answer = api.post(f"jobs/{job.pk}/hand-over", {"reason": "It was not cut."})
    assert (answer.status_code, answer.json()["job"]["state"]) == (200, "OPTI_DONE")
    work_until(job, "DONE", machines=player(floor, only="saw"))

    (taken,) = floor.processed.iterdir()
    assert taken.name != first
    assert job.delivery_names == [first, taken.name]
    assert (job.retry_count, job.handover_count, job.open_deliveries) == (3, 1, [])
    verbs = [event.details.get("verb") for event in Event.objects.of(job)]
    assert verbs[verbs.index("hand_over") :] == ["hand_over", "validate", "deliver", "finish"]


def test_handed_over_again_it_is_not_cut_twice_if_the_saw_shows_it_after_all(floor) -> None:
    job = of_unknown_handover(floor)
    (floor.processed / job.open_deliveries[0]).write_text("late")

    hand_over(job.pk)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert [path.name for path in floor.processed.iterdir()] == job.delivery_names


@pytest.mark.parametrize("verb", ["confirm-cut", "hand-over"])
def test_other_jobs_are_not_decided(api, verb) -> None:
    known, done = CUTTING_JOBS.row_in("FAILED"), CUTTING_JOBS.row_in("DONE")

    answers = [api.post(f"jobs/{job.pk}/{verb}") for job in (known, done)]

    assert [(answer.status_code, error(answer)["code"]) for answer in answers] == [
        (409, "HANDOVER_KNOWN"),
        (409, "MOVE_REFUSED"),
    ]
    for operation in (CONFIRM_CUT, HAND_OVER):
        assert operation.skips(Job.objects.all())[known.pk] == ("FAILED", "the saw's answer is known")


def test_of_two_files_the_one_that_was_cut_is_not_delivered_again(floor) -> None:
    """The other was taken back, so the job is not done yet."""
    job = of_unknown_handover(floor)
    file = job.solution_files.get()
    SolutionFile.objects.create(job=job, name="second.xml", content=file.content, sha256=file.sha256)
    digest = steps.digest([bytes(file.content)] * 2)
    Job.objects.filter(pk=job.pk).update(xml_sha256=digest)

    CONFIRM_CUT.apply(None, [job.pk], {})
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert [path.name for path in floor.processed.iterdir()] == [delivery_name(job.pk, 2, Path("second.xml"))]
    assert job.solution_files.exclude(acknowledged_as="").count() == 2


def test_a_decision_is_one_move_and_one_event(floor) -> None:
    job = CUTTING_JOBS.row_in("FAILED")
    lose_sight(job)

    with transaction.atomic():
        assert Job.objects.filter(pk=job.pk).hand_over() == 1
        assert Job.objects.filter(pk=job.pk).hand_over() == 0

    assert Event.objects.of(job).filter(details__verb="hand_over").count() == 1
