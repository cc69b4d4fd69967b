"""Mishaps between the rules, the runner and the saw: no order is lost, and none is cut twice."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.api.errors import ApiError
from kilit.lock.leases import MOST_LAPSES
from kilit.sentences import english
from orchestrator.folders import Sightings
from orchestrator.models import Job
from orchestrator.planning import rules
from orchestrator.saw import delivery
from orchestrator.workflow import runner, steps
from orchestrator.workflow.decisions import cancel, retry
from orchestrator.workflow.runner import OUTAGE_LIMIT, tick
from tests.support.cutting_handover import handed_over, too_late
from tests.support.cutting_jobs import CUTTING_JOBS, make_job, order_body
from tests.support.cutting_runs import command, due_again, let_leases_lapse, player, work_until

pytestmark = pytest.mark.django_db


def change(file: Path, **entries: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


ONE_XML_PER_SHEET = 'for f in "$@"; do echo "<a><Solution/></a>" > {}/$(basename "$f" .xlsx).xml; done'


def test_a_solution_for_each_sheet_is_taken_whole_though_the_rules_expect_one(floor, customer, settings) -> None:
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", ONE_XML_PER_SHEET.format(floor.export), "optiplanning"])
    job = make_job()

    work_until(job, "DONE", "FAILED", machines=player(floor, only="saw"))

    assert (job.status, job.batch_count) == ("DONE", 2)
    assert len(list(floor.processed.iterdir())) == 2


def test_a_sheet_without_a_solution_is_named_when_the_time_is_over(floor, customer, settings) -> None:
    only_one = ONE_XML_PER_SHEET.replace("done", "break; done").format(floor.export)
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", only_one, "optiplanning"])
    job = make_job()
    tick(patient=True)
    job.refresh_from_db()
    assert job.status == "OPTI_RUNNING"

    Job.objects.filter(pk=job.pk).update(opti_started_at=Now() - timedelta(minutes=21), next_run_at=Now())
    tick(patient=True)

    job.refresh_from_db()
    (lacking,) = (
        sheet["name"] for sheet in job.files if not (floor.export / sheet["name"]).with_suffix(".xml").exists()
    )
    assert (job.status, job.error_code) == ("FAILED", "E_OPTI_XML_TIMEOUT")
    assert f"no solution for {lacking}, only for the other sheets" in english(job.error_message)


def test_a_runner_that_lost_its_claim_while_it_copied_lays_nothing(floor, customer, settings, monkeypatch) -> None:
    """Its PC slept, and meanwhile the order failed, was retried and cut; a second file would be cut, too."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    copies = delivery.write_temp

    def copies_slowly(*given: Any) -> Path:
        aside = copies(*given)
        monkeypatch.setattr(delivery, "write_temp", copies)
        let_leases_lapse()
        tick(patient=True)  # another runner
        too_late(job)
        tick(patient=True)
        job.refresh_from_db()
        assert job.error_code == "E_OSI_ACK_TIMEOUT"
        retry(job.pk)
        due_again(job)
        work_until(job, "DONE", machines=player(floor, only="saw"))
        return aside

    monkeypatch.setattr(delivery, "write_temp", copies_slowly)
    work_until(job, "DONE", "FAILED")

    assert delivery.write_temp is copies
    assert list(floor.inbox.iterdir()) == []
    assert len(list(floor.processed.iterdir())) == 1


@pytest.mark.parametrize(("before", "after"), [("C", "A"), ("A", "C")])
@pytest.mark.by_day(1)
def test_an_order_that_names_no_mode_is_the_same_whatever_the_default(api, rules_file, before, after) -> None:
    body = order_body()
    body.pop("opti_mode", None)
    change(rules_file, optiModeDefault=before)
    first = api.post("jobs", body).json()
    change(rules_file, optiModeDefault=after)

    again, spelt = api.post("jobs", body), api.post("jobs", {**body, "opti_mode": before})
    other = api.post("jobs", {**body, "opti_mode": after})

    assert [again.status_code, spelt.status_code, other.status_code] == [200, 200, 201]
    assert again.json()["job"]["id"] == spelt.json()["job"]["id"] == first["job"]["id"]
    assert first["job"]["opti_mode"] == before


def test_a_process_that_has_never_seen_good_rules_leaves_jobs_alone(
    floor, customer, settings, rules_file, make_person
) -> None:
    """After the fix they continue; failed, each would cost a retry, and the saw's files would be taken back."""
    settings.OPTI_COMMAND = command(floor)
    at_the_saw, fresh = make_job(), make_job(revision=1)
    work_until(at_the_saw, "XML_READY")
    tick(patient=True)
    assert len(list(floor.inbox.iterdir())) >= 1
    good = rules_file.read_text()
    rules_file.write_text(good.replace("trimByThickness", "trimByThicknes"))
    rules._last.clear()  # as in a process that was just started
    Job.objects.update(next_run_at=Now())
    before = list(Job.objects.order_by("pk").values_list("status", "error_code", "retry_count"))

    assert tick(patient=True) == 0

    assert list(Job.objects.order_by("pk").values_list("status", "error_code", "retry_count")) == before
    viewer = make_person(role="viewer")
    way = 'href="/admin/orchestrator/rulesversion/"'
    for page, link in {
        "/admin/": f"{way}>The cutting rules are invalid</a>",
        f"/admin/orchestrator/job/{fresh.pk}/change/": f'{way} class="kilit-link underline">Rules</a>',
    }.items():
        shown = viewer.get(page).content.decode()
        assert "trimByThickness" in shown
        assert link in shown, "beside the reason"
    rules_file.write_text(good)
    for job in (at_the_saw, fresh):
        work_until(job, "DONE", machines=player(floor, only="saw"))


def test_rules_that_change_after_the_gates_hold_the_order(floor, customer, settings, rules_file) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = make_job(plate_size=None)
    steps.prepare(Job.objects.claim(), lambda: None)
    let_leases_lapse()
    change(rules_file, defaultPlateSize=None)

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("HOLD", "E_PLATE_SIZE_MISSING")


def test_an_order_that_the_saw_has_cut_in_part_is_not_cancelled(floor, customer, settings, rules_file) -> None:
    """It would be sent again, and the part would be cut twice."""
    change(rules_file, xml_expected="batch")
    settings.OPTI_COMMAND = json.dumps(["sh", "-c", ONE_XML_PER_SHEET.format(floor.export), "optiplanning"])
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    taken, refused = sorted(floor.inbox.iterdir())
    taken.rename(floor.processed / taken.name)
    refused.rename(floor.failed / refused.name)
    due_again(job)
    work_until(job, "FAILED")
    retry(job.pk)

    with pytest.raises(ApiError, match=f"the saw has taken {taken.name}"):
        cancel(job.pk)

    job.refresh_from_db()
    assert job.status == "NEW"
    assert Job.objects.filter(pk=job.pk).cancel(message="by hand") == 0, "the row itself refuses"


@pytest.mark.parametrize("folder", ["imports", "export"])
@pytest.mark.by_day(1)
def test_a_share_that_is_away_for_a_while_fails_no_order(floor, customer, settings, monkeypatch, folder) -> None:
    """It waits where it is, and fails only when the share stays away; nothing of it is half-written."""
    settings.OPTI_COMMAND = command(floor)
    monkeypatch.setattr(runner, "share_outages", Sightings())
    job, patient_job = make_job(), make_job(revision=1)
    here = getattr(floor, folder)
    away = here.with_name("away")
    here.rename(away)

    tick(patient=True)

    for each in (job, patient_job):
        each.refresh_from_db()
        assert (each.error_code, each.claim_token) == ("", None)
        assert each.status in ("NEW", "PREPARED")
    _state, since = runner.share_outages.seen[job.pk]
    runner.share_outages.seen[job.pk] = None, since - OUTAGE_LIMIT.total_seconds() - 1
    Job.objects.filter(pk=job.pk).update(next_run_at=Now())
    tick(patient=True)
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_UNKNOWN")
    assert "Cannot use the folder" in english(job.error_message)

    away.rename(here)
    due_again(patient_job)
    work_until(patient_job, "DONE", machines=player(floor, only="saw"))


@pytest.mark.parametrize("solution", ["this", "an earlier"])
@pytest.mark.by_day(1)
def test_an_order_that_the_saw_took_unseen_is_not_cancelled(floor, customer, settings, solution) -> None:
    """The share was away when the time was over; the saw has the file by now, unnoticed."""
    job = handed_over(floor, settings)
    (handed,) = floor.inbox.iterdir()
    held = Job.objects.claim()
    Job.objects.filter(pk=held.pk).update(lapse_count=MOST_LAPSES - 1)
    if solution == "an earlier":
        job.solution_files.update(name="another.xml")
    handed.rename(floor.processed / handed.name)
    let_leases_lapse()
    tick(patient=True)
    retry(job.pk)

    with pytest.raises(ApiError, match=f"the saw has taken {handed.name}"):
        cancel(job.pk)


def test_runners_lost_before_a_move_are_forgotten_by_it() -> None:
    job = CUTTING_JOBS.row_in("OPTI_IMPORTED")
    Job.objects.update(lapse_count=MOST_LAPSES - 1, next_run_at=Now(), attempt_started_at=Now())

    assert Job.objects.take_slot(Job.objects.claim())

    job.refresh_from_db()
    assert (job.status, job.lapse_count) == ("OPTI_RUNNING", 0)
