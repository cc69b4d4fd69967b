"""A retry that only has to deliver again neither waits for OptiPlanning nor takes its slot; and what events say."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.db.models.functions import Now

from kilit.lock.leases import new_lease
from kilit.lock.models import Event
from kilit.sentences import english
from orchestrator.models import Job
from orchestrator.workflow.decisions import retry
from orchestrator.workflow.runner import handle_bell
from tests.support.cutting_handover import rejected
from tests.support.cutting_jobs import CUTTING_JOBS, make_job
from tests.support.cutting_runs import due_again, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]


def test_a_delivery_is_repeated_while_optiplanning_works_for_another(floor, customer) -> None:
    job = rejected(floor)
    busy = CUTTING_JOBS.row_in("OPTI_RUNNING")
    Job.objects.filter(pk=busy.pk).update(**new_lease(timedelta(hours=1)))
    # In mode A, too, it is done by the workers: the watching runner may be waiting for OptiPlanning.
    retry(job.pk)
    due_again(job)

    handle_bell()

    job.refresh_from_db()
    assert job.status == "XML_READY"
    assert len(list(floor.inbox.iterdir())) == 1
    player(floor, only="saw").look()
    due_again(job)
    handle_bell()
    job.refresh_from_db()
    busy.refresh_from_db()
    assert (job.status, busy.status) == ("DONE", "OPTI_RUNNING")
    verbs = [event.details.get("verb") for event in Event.objects.of(job)]
    assert verbs[-5:] == ["import_files", "reuse_solution", "validate", "deliver", "finish"]


@pytest.mark.parametrize("mode", ["A", "C"])
def test_a_job_with_a_solution_is_quick_and_not_in_the_queue_for_the_slot(mode) -> None:
    job = CUTTING_JOBS.row_in("OPTI_IMPORTED", opti_mode=mode, manual_trigger_approved=True)
    Job.objects.filter(pk=job.pk).update(imported_at=Now())
    assert Job.objects.waiting_for_slot().exists()

    Job.objects.filter(pk=job.pk).update(xml_sha256="0" * 64)

    assert not Job.objects.waiting_for_slot().exists()
    assert Job.objects.quick().exists()


def test_without_a_solution_the_database_refuses_the_way_past_optiplanning() -> None:
    job = CUTTING_JOBS.row_in("OPTI_IMPORTED")

    with pytest.raises(IntegrityError, match="solved_job_has_xml"):
        CUTTING_JOBS.write_state(job, "OPTI_DONE")


# Messages of events


def test_every_event_says_something(floor, customer) -> None:
    job = rejected(floor)
    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    events = list(Event.objects.of(job))
    messages = {event.event_type: english(event.message) for event in events}
    assert messages["JOB_CREATED"] == "Parts: 1. Customer: Ayşe Yılmaz. Mode C."
    assert messages["STATE_DONE"] == "The saw has everything."
    assert messages["JOB_RETRY_SCHEDULED"] == "Retry 1 of 3."
    assert messages["HOLD_APPROVED"] == "Approved by an operator."
    assert [event.event_type for event in events if not event.message] == []


def test_an_order_says_for_whom_it_is() -> None:
    named = make_job(customer_snapshot_name="Ege Mobilya")
    unnamed = make_job(order_id="S-2", opti_mode="C")

    assert english(Event.objects.of(named).get().message) == "Parts: 2. Customer: Ege Mobilya. Mode A."
    assert english(Event.objects.of(unnamed).get().message) == "Parts: 2. Mode C."
