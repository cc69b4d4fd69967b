"""The runner: claims, waiting, lapsed leases, faults and the one slot (ORC-4, ORC-19, ORC-20; 003 §3.2, §3.4, §4)."""

import hashlib
import io
import json
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, transaction
from django.db.models.functions import Now

from lifecycle.guard import MoveRefused
from lifecycle.leases import new_lease
from lifecycle.models import Event
from orchestrator import collecting, runner, steps
from orchestrator.decisions import approve, cancel, retry
from orchestrator.excel import writing
from orchestrator.faults import Code, Fault
from orchestrator.models import Customer, Job, queryset
from orchestrator.models import job as models_job
from orchestrator.models.job import ClaimLost
from orchestrator.models.queryset import MOST_LAPSES
from orchestrator.runner import is_due, tick
from orchestrator.states import WORKING
from tests.orchestrator import test_lifecycle
from tests.orchestrator.conftest import ARKALIK, GOVDE, make_job
from tests.orchestrator.playing import command, player, work_until

pytestmark = pytest.mark.django_db

row_in = test_lifecycle.TestJobs.specimen.row_in


@pytest.fixture(autouse=True)
def _solutions_are_at_rest_at_once(monkeypatch) -> None:
    monkeypatch.setattr(collecting, "STABLE_AFTER", timedelta(0))


def due_again(*jobs: Job) -> None:
    """Let the time pass that jobs wait for."""
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(next_run_at=Now())


def let_leases_lapse() -> None:
    Job.objects.exclude(lease_until=None).update(lease_until=Now() - timedelta(seconds=1))


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
        swept.advance("prepare")
    swept = Job.objects.get(pk=other.pk)
    swept.claim_token = new_lease(timedelta(0))["claim_token"]
    with pytest.raises(ClaimLost):
        swept.renew()
    with pytest.raises(ClaimLost):
        swept.note(opti_ended_at=Now())
    assert not Job.objects.release(swept, after=timedelta(0))
    assert not Job.objects.take_slot(swept)
    other.refresh_from_db()
    assert other.claim_token is not None


def test_a_runner_without_a_claim_moves_nothing() -> None:
    job = Job.objects.get(pk=make_job().pk)

    for verb in (lambda: job.advance("prepare"), lambda: job.fail(Fault(Code.UNKNOWN, "no"))):
        with pytest.raises(MoveRefused):
            verb()
    assert not Job.objects.release(job, after=timedelta(0))


def test_a_live_claim_is_left_alone() -> None:
    make_job()
    Job.objects.claim()

    assert Job.objects.release_lapsed() == 0


def test_a_stale_claim_at_the_head_never_starves_the_rest(floor, customer) -> None:
    """ORC-20, before any sweep has looked."""
    head, *rest = [make_job(opti_mode="C", revision=number) for number in range(4)]
    assert Job.objects.claim().pk == head.pk

    tick(patient=True)

    assert {job.status for job in Job.objects.filter(pk__in=[job.pk for job in rest])} == {"HOLD"}


def test_a_job_that_takes_every_runner_down_comes_to_an_end() -> None:
    job = make_job()

    for _ in range(MOST_LAPSES):
        assert Job.objects.claim().pk == job.pk
        let_leases_lapse()
        Job.objects.release_lapsed()

    job.refresh_from_db()
    assert (job.status, job.error_code, job.claim_token) == ("FAILED", "E_UNKNOWN", None)


def test_waiting_holds_no_claim(floor, customer, settings) -> None:
    """ORC-19: for the slot, for the XML and for the saw."""
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    busy, waiting = make_job(), make_job(revision=1)

    tick(patient=True)

    for job, state in ((busy, "OPTI_RUNNING"), (waiting, "OPTI_IMPORTED")):
        job.refresh_from_db()
        assert (job.status, job.claim_token, job.retry_count, job.error_code) == (state, None, 0, "")
        assert job.next_run_at > job.created_at


# What is held, and what fails


HOLDS = {
    Code.CRM_NO_MATCH: {"customer_phone": "+905559998877"},
    Code.BACKING_THICKNESS_UNKNOWN: {"parts": [ARKALIK | {"thickness_mm": 6}]},
    Code.TRIM_RULE_MISSING: {"parts": [GOVDE | {"thickness_mm": 16}]},
    Code.OPERATOR_TRIGGER_REQUIRED: {"opti_mode": "C"},
}


@pytest.mark.parametrize("code", HOLDS)
def test_what_a_person_can_mend_is_held(floor, customer, code) -> None:
    """003 §3.2."""
    job = make_job(**HOLDS[code])

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code, job.claim_token) == ("HOLD", code, None)
    event = Event.objects.of(job).last()
    assert (event.event_type, event.details["error_code"]) == ("STATE_HOLD", code)
    assert event.from_state == ("OPTI_IMPORTED" if code == Code.OPERATOR_TRIGGER_REQUIRED else "NEW")
    assert event.actor.startswith("runner:")
    assert event.message


def test_a_missing_template_is_held(floor, customer, settings, tmp_path) -> None:
    settings.OPTI_TEMPLATE = tmp_path / "none.xlsx"
    job = make_job()

    work_until(job, "HOLD")

    assert job.error_code == "E_TEMPLATE_INVALID"
    assert list(floor.imports.iterdir()) == []


def test_a_missing_plate_size_is_held(floor, customer, settings, tmp_path) -> None:
    rules = settings.OPTI_RULES.read_text()
    settings.OPTI_RULES = tmp_path / "rules.json"
    plate = '"defaultPlateSize": {"width_mm": 2100, "height_mm": 2800}'
    assert plate in rules
    settings.OPTI_RULES.write_text(rules.replace(plate, '"defaultPlateSize": null'))
    job, named = make_job(), make_job(opti_mode="C", plate_size={"width_mm": 1830, "height_mm": 3660})

    work_until(job, "HOLD")
    work_until(named, "HOLD")

    assert job.error_code == "E_PLATE_SIZE_MISSING"
    assert named.error_code == "E_OPERATOR_TRIGGER_REQUIRED"


def test_the_gates_are_asked_in_their_order(floor, settings, tmp_path) -> None:
    """ORC-9: the customer first, then the template, then the parts."""
    settings.OPTI_TEMPLATE = tmp_path / "none.xlsx"
    template = settings.OPTI_TEMPLATE
    job = make_job(parts=[GOVDE | {"thickness_mm": 16}])
    seen = []

    for mend in (
        lambda: Customer.objects.create(phone="+905551234567", name="Ayşe"),
        lambda: setattr(settings, "OPTI_TEMPLATE", template.parent / "none.xlsx"),
    ):
        work_until(job, "HOLD")
        seen.append(job.error_code)
        mend()
        approve(job.pk)
    work_until(job, "HOLD")

    assert seen == ["E_CRM_NO_MATCH", "E_TEMPLATE_INVALID"]


FAILS = {
    "an unknown edge": ({"parts": [GOVDE | {"edge_up": "3mm"}]}, "E_EDGE_MAPPING_UNKNOWN"),
    "no command": ({}, "E_OPTI_MODE_A_RUNNER_MISSING"),
    "no Excel": ({"opti_mode": "B"}, "E_OPTI_MODE_B_MACRO_MISSING"),
}


@pytest.mark.parametrize(("changes", "code"), FAILS.values(), ids=FAILS)
def test_what_nobody_can_mend_here_fails(floor, customer, changes, code) -> None:
    """003 §3.4."""
    job = make_job(**changes)

    work_until(job, "FAILED")

    assert (job.error_code, job.claim_token) == (code, None)


FAULTS = {"crash": "E_OPTI_RUNNER_FAILED", "invalid": "E_XML_INVALID"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_optiplanning_fails_the_job_and_frees_the_slot(floor, customer, settings, fault) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", fault)
    job = make_job()

    work_until(job, "FAILED")

    assert job.error_code == FAULTS[fault]
    assert Event.objects.of(job).last().from_state == "OPTI_RUNNING"
    assert not Job.objects.filter(status="OPTI_RUNNING").exists()


def test_a_solution_that_never_comes_fails_after_its_time(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    job = make_job()
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(opti_started_at=Now() - timedelta(minutes=21), next_run_at=Now())

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_OPTI_XML_TIMEOUT")


def test_a_program_that_runs_out_of_time_is_told_by_the_limit(floor, customer, settings) -> None:
    """Not by what was left of it when the next runner took over."""
    job = left_running(floor, settings)
    started = Now() - timedelta(minutes=20) + timedelta(seconds=1)
    Job.objects.filter(pk=job.pk).update(opti_started_at=started, next_run_at=Now())

    work_until(job, "FAILED")

    assert job.error_code == "E_OPTI_XML_TIMEOUT"
    assert job.error_message == "OptiPlanning brought no solution within 20 min."


def test_nobody_works_where_the_floor_is_not(floor, customer, settings) -> None:
    """KILIT_FLOOR_IS_HERE=false holds for every door, also for a single tick."""
    settings.FLOOR_IS_HERE = False
    job = make_job()

    out = io.StringIO()
    call_command("orchestrator_tick", stdout=out)

    job.refresh_from_db()
    assert job.status == "NEW"
    assert "on another machine" in out.getvalue()


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


def test_an_answer_that_came_while_nobody_ran_counts(floor, customer, settings) -> None:
    """ORC-18: even when it is found long after the time."""
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
    with patch.object(steps, "heard", side_effect=ZeroDivisionError):
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
    """ORC-18: OptiPlanning names its exports by the time, and the saw held its file open when we wanted it back."""
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", EXPORT_BY_TIME.format(floor.export), "optiplanning"])
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(minutes=6), next_run_at=Now())
    with patch.object(Path, "replace", stuck_in_the_inbox):
        tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_UNKNOWN")
    first = job.delivery_names
    assert [path.name for path in floor.inbox.iterdir()] == first
    if taken:
        player(floor, only="saw").look()

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.export.iterdir())) == 1, "OptiPlanning ran again"
    assert len(list(floor.processed.iterdir())) == 1
    assert list(floor.inbox.iterdir()) == []
    assert job.delivery_names[: len(first)] == first


EXPORT_BY_TIME = 'echo "<a><Solution/></a>" > {}/$(basename "$1" | cut -c-36)_$(date +%s%N).xml'


def test_a_saw_that_is_away_is_waited_for(floor, customer, settings) -> None:
    """ORC-18: a share that is away for a minute fails no job."""
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

    with patch.object(steps, "settle_earlier_attempts", side_effect=OSError(116, "Stale file handle")):
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
    """ORC-18: whatever happens while files are laid, they are found again."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(steps, "lay_into_inbox", side_effect=ZeroDivisionError):
        work_until(job, "FAILED")

    assert len(job.delivery_names) == 1


def test_a_failure_with_a_file_in_the_inbox_takes_it_back(floor, customer, settings) -> None:
    """A failed job should not be cut behind everybody's back."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    assert len(list(floor.inbox.iterdir())) == 1
    due_again(job)

    with patch.object(steps, "heard", side_effect=ZeroDivisionError):
        tick(patient=True)

    job.refresh_from_db()
    assert job.status == "FAILED"
    assert list(floor.inbox.iterdir()) == []


def test_a_cancelled_retry_takes_back_what_the_attempt_before_left(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(minutes=6), next_run_at=Now())
    with patch.object(Path, "replace", stuck_in_the_inbox):
        tick(patient=True)
    retry(job.pk)
    assert len(list(floor.inbox.iterdir())) == 1

    cancel(job.pk)

    assert list(floor.inbox.iterdir()) == []


def test_a_solution_that_the_saw_took_is_never_replaced(floor, customer, settings, tmp_path) -> None:
    """The rules changed after the saw took the file unheard: the order is cut, so it is not solved anew."""
    good = settings.OPTI_RULES.read_text()
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(good)
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    due_again(job)
    player(floor, only="saw").look()
    with patch.object(steps, "heard", side_effect=ZeroDivisionError):
        tick(patient=True)
    settings.OPTI_RULES.write_text(good.replace('"18": 10', '"18": 12'))

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1


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


def test_an_exception_nobody_named_is_unknown(floor, customer) -> None:
    """ORC-2: its text goes to the message and the event, never to the code."""
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


def test_a_template_that_breaks_between_two_steps_fails_for_good(floor, customer) -> None:
    """PREPARED has no arrow to HOLD, so a fault that would be held elsewhere fails here."""
    job = make_job()

    with patch.object(steps, "write_files", side_effect=Fault(Code.TEMPLATE_INVALID, "gone")):
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_TEMPLATE_INVALID")


def test_a_template_that_somebody_has_open_for_a_moment_may_be_retried(floor, customer, settings, tmp_path) -> None:
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
        work_until(job, "FAILED")
    assert (job.error_code, "cannot be read" in job.error_message) == ("E_UNKNOWN", True)

    (tmp_path / "open.xlsx").rename(template)
    retry(job.pk)
    due_again(job)
    work_until(job, "HOLD")
    assert job.error_code == "E_OPERATOR_TRIGGER_REQUIRED"


# Many sheets


def colourful(number: int) -> list[dict]:
    return [GOVDE | {"id": str(each), "color": f"Renk {each}"} for each in range(number)]


def test_a_job_of_more_sheets_than_fit_a_lease_keeps_its_claim(floor, customer, monkeypatch) -> None:
    """ORC-15, ORC-20: the lease is renewed between two sheets, so no other runner takes the job meanwhile."""
    monkeypatch.setattr(queryset, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(models_job, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(runner, "RENEW_EVERY", 0.1)
    fill, lapsed = writing.sheet_bytes, []

    def slowly(*args):
        time.sleep(0.3)
        lapsed.append(Job.objects.lapsed().count())
        return fill(*args)

    monkeypatch.setattr(writing, "sheet_bytes", slowly)
    job = make_job(opti_mode="C", parts=colourful(6))

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.lapse_count) == ("HOLD", 0)
    assert len(list(floor.imports.iterdir())) == 6
    assert lapsed == [0] * 6


def test_workers_leave_very_many_sheets_to_the_patient_runner(floor, customer, monkeypatch) -> None:
    """A worker's task has an end, which would come in the middle of them."""
    monkeypatch.setattr(queryset, "MANY_BATCHES", 3)
    few, many = make_job(opti_mode="C", parts=colourful(3)), make_job(opti_mode="C", parts=colourful(4))

    runner.answer()

    few.refresh_from_db()
    many.refresh_from_db()
    assert (few.status, many.status, many.claim_token) == ("HOLD", "PREPARED", None)
    assert not is_due()
    work_until(many, "HOLD")


# Sheets that OptiPlanning took in


def test_sheets_that_the_operator_took_in_are_not_laid_again(floor, customer) -> None:
    """ORC-15: OptiPlanning empties its import folder; laid again, the order would be optimised and cut again."""
    job = make_job(opti_mode="C")
    work_until(job, "HOLD")
    files = job.files
    for sheet in floor.imports.iterdir():
        sheet.unlink()
    approve(job.pk)

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.files) == ("OPTI_RUNNING", files)
    assert list(floor.imports.iterdir()) == []


def test_a_retry_of_the_delivery_lays_no_sheets(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "FAILED", machines=player(floor, only="saw", saw_fault="failed"))
    for sheet in floor.imports.iterdir():
        sheet.unlink()

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert list(floor.imports.iterdir()) == []


# Mode C


def test_a_retry_after_a_timeout_asks_the_operator_again(floor, customer) -> None:
    """OptiPlanning has to run again, so somebody has to start it again."""
    job = make_job(opti_mode="C")
    work_until(job, "HOLD")
    approve(job.pk)
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(opti_started_at=Now() - timedelta(minutes=21), next_run_at=Now())
    work_until(job, "FAILED")
    assert job.error_code == "E_OPTI_XML_TIMEOUT"

    retry(job.pk)
    due_again(job)
    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("HOLD", "E_OPERATOR_TRIGGER_REQUIRED")


def test_a_solution_of_the_attempt_before_is_not_taken(floor, customer) -> None:
    job = make_job(opti_mode="C")
    work_until(job, "HOLD")
    approve(job.pk)
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(opti_started_at=Now() - timedelta(minutes=21), next_run_at=Now())
    work_until(job, "FAILED")
    player(floor, only="opti").look()  # too late

    retry(job.pk)
    due_again(job)
    work_until(job, "HOLD")
    approve(job.pk)
    tick(patient=True)

    job.refresh_from_db()
    assert job.status == "OPTI_RUNNING"


# What a runner that died left in the export folder


def left_running(floor, settings) -> Job:
    """Return a job whose runner was lost while OptiPlanning ran."""
    settings.OPTI_COMMAND = command(floor, "--fault", "hang")
    job = make_job()
    tick(patient=True, stopping=Job.objects.filter(status="OPTI_RUNNING").exists)
    Job.objects.filter(pk=job.pk).update(attempt_started_at=Now() - timedelta(minutes=5))
    job.refresh_from_db()
    assert (job.status, job.opti_ended_at) == ("OPTI_RUNNING", None)
    return job


def test_the_stump_of_a_solution_is_written_again(floor, customer, settings, monkeypatch) -> None:
    """ORC-20: killed while OptiPlanning wrote; E_XML_INVALID would be for good."""
    monkeypatch.setattr(collecting, "CUT_SHORT_AFTER", timedelta(0))
    job = left_running(floor, settings)
    (floor.export / f"{job.pk}.xml").write_text("<Solutions><Solution best=")

    settings.OPTI_COMMAND = command(floor)
    work_until(job, "XML_READY", "FAILED")

    assert (job.status, job.error_code) == ("XML_READY", "")


def test_a_whole_solution_is_taken_and_optiplanning_not_started_again(floor, customer, settings, monkeypatch) -> None:
    monkeypatch.setattr(collecting, "STABLE_AFTER", timedelta(seconds=0.5))
    job = left_running(floor, settings)
    (floor.export / f"{job.pk}.xml").write_text("<Solutions><Solution/></Solutions>")

    settings.OPTI_COMMAND = json.dumps(["false"])
    work_until(job, "XML_READY", "FAILED")

    assert (job.status, job.error_code) == ("XML_READY", "")


def test_a_solution_that_disappears_before_it_is_kept_is_not_there_yet(floor, customer, settings) -> None:
    """Whoever wrote it replaces it, or a virus scanner holds it for a moment."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(Path, "read_bytes", side_effect=FileNotFoundError):
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.claim_token, job.error_code) == ("OPTI_RUNNING", None, "")
    work_until(job, "XML_READY")


def test_several_solutions_are_joined_in_one_order_whatever_the_database_sorts_by(floor) -> None:
    """ORC-17: B comes before a by its code point, and after it in most alphabets."""
    job = row_in("OPTI_DONE")
    for name in ("a.xml", "B.xml", "ç.xml", "d.xml"):
        job.solution_files.create(name=name, content=name.encode(), sha256="0" * 64)
    digest = hashlib.sha256("B.xmla.xmld.xmlç.xml".encode()).hexdigest()
    Job.objects.filter(pk=job.pk).update(xml_sha256=digest, next_run_at=Now())

    steps.validate(Job.objects.claim(), lambda: None)

    job.refresh_from_db()
    assert job.status == "XML_READY"


# The slot


def test_two_jobs_can_never_be_running_whoever_writes() -> None:
    row_in("OPTI_RUNNING")
    second = make_job()
    second.move("prepare")
    second.move("import_files", imported_at=Now())

    with pytest.raises(IntegrityError, match="one_opti_running"), transaction.atomic():
        second.move("start", opti_started_at=Now(), attempt_started_at=Now())


def test_of_runners_that_race_for_the_slot_one_gets_it_and_nobody_fails(transactional_db, in_threads) -> None:
    """ORC-4: both looked before either took it; the index answers the second."""
    for number in range(6):
        job = make_job(revision=number)
        job.move("prepare", attempt_started_at=Now())
        job.move("import_files", imported_at=None)  # nobody has waited longer
    start = threading.Barrier(6)

    def race(_: int) -> bool:
        held = Job.objects.claim()
        start.wait(timeout=20)
        return Job.objects.take_slot(held)

    assert sorted(in_threads(race, count=6)) == [False] * 5 + [True]
    assert Job.objects.filter(status="OPTI_RUNNING").count() == 1
    assert Job.objects.filter(status="OPTI_IMPORTED", error_code="").count() == 5


def test_without_the_look_before_the_index_alone_lets_one_in(transactional_db, in_threads) -> None:
    """The race is real: with nobody looking first, the losers meet the index and are told so."""
    for number in range(4):
        job = make_job(revision=number)
        job.move("prepare", attempt_started_at=Now())
        job.move("import_files", imported_at=None)
    start = threading.Barrier(4)

    def race(_: int) -> bool:
        held = Job.objects.claim()
        start.wait(timeout=20)
        return Job.objects.take_slot(held)

    # Around all threads: patches that overlap put back each other's.
    with patch.object(type(Job.objects.all()), "waited_longer", lambda self: self.none()):
        assert sorted(in_threads(race, count=4)) == [False] * 3 + [True]


def test_whoever_waited_longest_gets_the_slot(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    jobs = [make_job(revision=number) for number in range(3)]
    tick(patient=True)
    due_again(jobs[2])
    cancel(jobs[0].pk)

    tick(patient=True)

    assert [Job.objects.get(pk=job.pk).status for job in jobs] == ["FAILED", "OPTI_RUNNING", "OPTI_IMPORTED"]


def test_a_free_slot_wakes_the_job_that_waits_longest(floor, customer, settings) -> None:
    """Nobody sleeps through a free slot until the time to ask again has come."""
    settings.OPTI_COMMAND = command(floor, "--fault", "silent")
    busy, waiting = make_job(), make_job(revision=1)
    tick(patient=True)
    waiting.refresh_from_db()
    assert waiting.next_run_at > Job.objects.values_list(Now(), flat=True)[0]
    cancel(busy.pk)

    tick(patient=True)

    waiting.refresh_from_db()
    assert waiting.status == "OPTI_RUNNING"


def test_an_order_that_nobody_takes_up_keeps_no_other_from_its_turn(floor, customer) -> None:
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


# Patience


def test_workers_leave_to_the_patient_runner_what_takes_long(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job, by_hand = make_job(), make_job(opti_mode="C")

    assert is_due()
    runner.answer()

    job.refresh_from_db()
    by_hand.refresh_from_db()
    assert (job.status, job.claim_token) == ("OPTI_IMPORTED", None)
    assert by_hand.status == "HOLD"
    assert not is_due()
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
    with suppress(psutil.NoSuchProcess):
        # Killed; whether somebody has reaped it by now is not our affair.
        assert psutil.Process(int(pid.read_text())).status() == psutil.STATUS_ZOMBIE


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
