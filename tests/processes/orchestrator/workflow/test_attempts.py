"""Attempts: many sheets, sheets taken in, and what one that died left behind."""

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from django.db.models import F
from django.db.models.functions import Now

from orchestrator.models import Job
from orchestrator.models.job import LEASE
from orchestrator.optiplanning import collecting
from orchestrator.planning.excel import sheet as excel_sheet
from orchestrator.workflow import runner, steps
from orchestrator.workflow.decisions import approve, retry
from orchestrator.workflow.runner import due_rows, tick
from tests.support.cutting_jobs import CUTTING_JOBS, GOVDE, make_job
from tests.support.cutting_runs import command, due_again, left_running, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

row_in = CUTTING_JOBS.row_in


def colourful(number: int) -> list[dict]:
    return [GOVDE | {"id": str(each), "color": f"Renk {each}"} for each in range(number)]


def test_a_job_of_more_sheets_than_fit_a_lease_keeps_its_claim(floor, customer, monkeypatch) -> None:
    """The lease is renewed between two sheets, so no other runner takes the job meanwhile."""
    monkeypatch.setattr(runner, "RENEW_EVERY", 0)
    fill, lapsed = excel_sheet.sheet_bytes, []

    def slowly(*args):
        Job.objects.update(lease_until=F("lease_until") - LEASE * 0.6)  # so long it takes
        lapsed.append(Job.objects.lapsed().count())
        return fill(*args)

    monkeypatch.setattr(excel_sheet, "sheet_bytes", slowly)
    job = make_job(opti_mode="C", parts=colourful(6))

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.lapse_count) == ("HOLD", 0)
    assert len(list(floor.imports.iterdir())) == 6
    assert lapsed == [0] * 6


def test_workers_leave_very_many_sheets_to_the_patient_runner(floor, customer, monkeypatch) -> None:
    """A worker's task has an end, which would come in the middle of them."""
    monkeypatch.setattr("orchestrator.models.long_steps.MANY_BATCHES", 3)
    few, many = make_job(opti_mode="C", parts=colourful(3)), make_job(opti_mode="C", parts=colourful(4))

    runner.handle_bell()

    few.refresh_from_db()
    many.refresh_from_db()
    assert (few.status, many.status, many.claim_token) == ("HOLD", "PREPARED", None)
    assert not any(rows.exists() for rows in due_rows())
    work_until(many, "HOLD")


def test_sheets_that_the_operator_took_in_are_not_laid_again(floor, customer) -> None:
    """OptiPlanning empties its import folder; laid again, the order would be optimised and cut again."""
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


def test_a_retry_after_a_timeout_asks_the_operator_again_and_takes_no_earlier_solution(floor, customer) -> None:
    """OptiPlanning has to run again, so an operator has to start it again."""
    job = make_job(opti_mode="C")
    work_until(job, "HOLD")
    approve(job.pk)
    tick(patient=True)
    Job.objects.filter(pk=job.pk).update(opti_started_at=Now() - timedelta(minutes=21), next_run_at=Now())
    work_until(job, "FAILED")
    assert job.error_code == "E_OPTI_XML_TIMEOUT"
    player(floor, only="opti").look()  # too late

    retry(job.pk)
    due_again(job)
    tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("HOLD", "E_OPERATOR_TRIGGER_REQUIRED")
    approve(job.pk)
    tick(patient=True)

    job.refresh_from_db()
    assert job.status == "OPTI_RUNNING"


def test_the_stump_of_a_solution_is_written_again(floor, customer, settings, monkeypatch) -> None:
    """Killed while OptiPlanning wrote; E_XML_INVALID would be for good."""
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
    """Its writer replaces it, or a virus scanner holds it for a moment."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()

    with patch.object(Path, "read_bytes", side_effect=FileNotFoundError):
        tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.claim_token, job.error_code) == ("OPTI_RUNNING", None, "")
    work_until(job, "XML_READY")


def test_several_solutions_are_joined_in_one_order_whatever_the_database_sorts_by(floor) -> None:
    """B comes before a by its code point, and after it in most alphabets."""
    job = row_in("OPTI_DONE")
    for name in ("a.xml", "B.xml", "ç.xml", "d.xml"):
        job.solution_files.create(name=name, content=name.encode(), sha256="0" * 64)
    digest = hashlib.sha256("B.xmla.xmld.xmlç.xml".encode()).hexdigest()
    Job.objects.filter(pk=job.pk).update(xml_sha256=digest, next_run_at=Now())

    steps.validate(Job.objects.claim(), lambda: None)

    job.refresh_from_db()
    assert job.status == "XML_READY"
