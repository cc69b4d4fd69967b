"""What is held, what fails, and with which code."""

import io
import json
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.sentences import english
from orchestrator.errors import Code
from orchestrator.models import Customer, Job
from orchestrator.workflow import steps
from orchestrator.workflow.decisions import approve
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import ARKALIK, GOVDE, make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import command, due_again, left_running, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]


HOLDS = {
    Code.CRM_NO_MATCH: {"customer_phone": "+905559998877"},
    Code.BACKING_THICKNESS_UNKNOWN: {"parts": [ARKALIK | {"thickness_mm": 6}]},
    Code.TRIM_RULE_MISSING: {"parts": [GOVDE | {"thickness_mm": 16}]},
    Code.OPERATOR_TRIGGER_REQUIRED: {"opti_mode": "C"},
}


@pytest.mark.parametrize("code", HOLDS)
def test_what_a_person_can_mend_is_held(floor, customer, code) -> None:
    job = make_job(**HOLDS[code])

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code, job.claim_token) == ("HOLD", code, None)
    event = Event.objects.of(job).last()
    assert (event.event_type, event.details["error_code"]) == ("STATE_HOLD", code)
    assert event.from_state == ("OPTI_IMPORTED" if code == Code.OPERATOR_TRIGGER_REQUIRED else "NEW")
    assert event.actor.startswith("runner:")
    assert event.message


def test_a_missing_plate_size_is_held(floor, customer, rules_file) -> None:
    rules_file.write_text(json.dumps(SHIPPED | {"defaultPlateSize": None}))
    job, named = make_job(), make_job(opti_mode="C", plate_size={"width_mm": 1830, "height_mm": 3660})

    work_until(job, "HOLD")
    work_until(named, "HOLD")

    assert job.error_code == "E_PLATE_SIZE_MISSING"
    assert named.error_code == "E_OPERATOR_TRIGGER_REQUIRED"


def test_the_gates_are_asked_in_their_order(floor, settings, tmp_path) -> None:
    """The customer first, then the template, then the parts."""
    template, settings.OPTI_TEMPLATE = settings.OPTI_TEMPLATE, tmp_path / "none.xlsx"
    job = make_job(parts=[GOVDE | {"thickness_mm": 16}])
    seen = []

    for fix in (
        lambda: Customer.objects.create(phone="+905551234567", name="Ayşe"),
        lambda: setattr(settings, "OPTI_TEMPLATE", template),
    ):
        work_until(job, "HOLD")
        seen.append(job.error_code)
        fix()
        approve(job.pk)
    work_until(job, "HOLD")

    assert [*seen, job.error_code] == ["E_CRM_NO_MATCH", "E_TEMPLATE_INVALID", "E_TRIM_RULE_MISSING"]
    assert list(floor.imports.iterdir()) == []


FAILS = {
    "an unknown edge": ({"parts": [GOVDE | {"edge_up": "3mm"}]}, "E_EDGE_MAPPING_UNKNOWN"),
    "no command": ({}, "E_OPTI_MODE_A_RUNNER_MISSING"),
    "no Excel": ({"opti_mode": "B"}, "E_OPTI_MODE_B_MACRO_MISSING"),
}


@pytest.mark.parametrize(("changes", "code"), FAILS.values(), ids=FAILS)
def test_an_error_that_no_operator_can_fix_fails_the_job(floor, customer, changes, code) -> None:
    job = make_job(**changes)

    work_until(job, "FAILED")

    assert (job.error_code, job.claim_token) == (code, None)


FAULTS = {"crash": "E_OPTI_RUNNER_FAILED", "invalid": "E_XML_INVALID"}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_of_optiplanning_fails_the_job_and_frees_the_slot(floor, customer, settings, fault) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", fault)
    job = make_job()

    work_until(job, "FAILED")

    assert job.error_code == FAULTS[fault]
    assert Event.objects.of(job).last().from_state == "OPTI_RUNNING"
    assert not Job.objects.filter(status="OPTI_RUNNING").exists()


def test_a_program_that_runs_out_of_time_is_reported_by_the_limit(floor, customer, settings) -> None:
    """Not by what was left of it when the next runner took over."""
    job = left_running(floor, settings)
    started = Now() - timedelta(minutes=20) + timedelta(seconds=1)
    Job.objects.filter(pk=job.pk).update(opti_started_at=started, next_run_at=Now())

    work_until(job, "FAILED")

    assert job.error_code == "E_OPTI_XML_TIMEOUT"
    assert english(job.error_message) == "OptiPlanning wrote no solution within 20 min."


def test_no_one_works_where_the_floor_is_not(floor, customer, settings) -> None:
    """KILIT_FLOOR_IS_HERE=false holds for every door, also for a single tick."""
    settings.FLOOR_IS_HERE = False
    job = make_job()

    out = io.StringIO()
    call_command("orchestrator_tick", stdout=out)

    job.refresh_from_db()
    assert job.status == "NEW"
    assert "on another machine" in out.getvalue()


def test_optiplanning_is_started_once_however_long_its_solution_takes(floor, customer, settings, tmp_path) -> None:
    log = tmp_path / "starts.log"
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", f"echo started >> {log}"])
    job = make_job()

    for _ in range(3):
        tick(patient=True)
        due_again(job)

    job.refresh_from_db()
    assert job.status == "OPTI_RUNNING"
    assert log.read_text().splitlines() == ["started"]


def test_an_exception_no_one_named_is_unknown(floor, customer) -> None:
    """Its text goes to the message and the event, never to the code."""
    job = make_job()

    with patch.object(steps, "transform", side_effect=ZeroDivisionError("by nought\x00\ud800")):
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_UNKNOWN")
    assert "by nought" in Event.objects.of(job).last().message


def test_a_database_that_is_gone_fails_no_job(floor, customer) -> None:
    job = make_job()

    with patch.object(steps, "transform", side_effect=OperationalError("gone")), pytest.raises(OperationalError):
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("NEW", "")


def test_a_template_that_somebody_has_open_for_a_moment_is_held_and_approved(
    floor, customer, settings, tmp_path
) -> None:
    """Between two steps: what cannot be read now can be read later."""
    template = tmp_path / "template.xlsx"
    template.write_bytes(settings.OPTI_TEMPLATE.read_bytes())
    settings.OPTI_TEMPLATE = template
    job = make_job(opti_mode="C")
    prepare = steps.STEPS["NEW"]

    def prepare_and_lock(*args):
        wait = prepare(*args)
        template.rename(tmp_path / "open.xlsx")
        return wait

    with patch.dict(steps.STEPS, {"NEW": prepare_and_lock}):
        work_until(job, "HOLD", "FAILED")
    assert (job.status, job.error_code) == ("HOLD", "E_TEMPLATE_INVALID")
    assert "cannot be read" in job.error_message

    (tmp_path / "open.xlsx").rename(template)
    approve(job.pk)
    work_until(job, "HOLD")
    assert job.error_code == "E_OPERATOR_TRIGGER_REQUIRED"
