"""Orders from the API to the saw, through real folders, a real program and the simulator."""

import pytest
from openpyxl import load_workbook

from kilit.lock.models import Event
from orchestrator.models import Job
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import GOVDE, order_body
from tests.support.cutting_runs import command, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

HAPPY_PATH = ["PREPARED", "OPTI_IMPORTED", "OPTI_RUNNING", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]


def post(api, **changes) -> Job:
    answer = api.post("jobs", order_body(**changes))
    assert answer.status_code == 201, answer.content
    return Job.objects.get(pk=answer.json()["job"]["id"])


def cells(path) -> list[list[object]]:
    book = load_workbook(path)
    assert book.sheetnames == ["ŞABLON"]
    return [[cell.value for cell in row] for row in book["ŞABLON"].iter_rows(min_row=3, max_col=12)]


def timeline(job: Job) -> list[str]:
    return [event.event_type for event in Event.objects.of(job)]


GOVDE_ROW = ["MAT-01", 1205, 400, 2, 1, "GOVDE_g1_TRIM_10.00", 1, 1, 0.4, None, None, None]
ARKALIK_ROW = ["MAT-02", 1180, 382.5, 1, 0, "ARKALIK_a1_TRIM_5.00", None, None, None, None, None, None]


def assert_sheets(job: Job, floor) -> None:
    first, second = job.files
    assert first["name"] == f"{job.pk}_GOVDE_Beyaz_18mm.xlsx"
    assert second["name"] == f"{job.pk}_ARKALIK_Beyaz_5mm.xlsx"
    assert cells(floor.imports / first["name"]) == [GOVDE_ROW]
    assert cells(floor.imports / second["name"]) == [ARKALIK_ROW]


def test_mode_a_goes_from_the_order_to_the_saw_automatically(api, floor, customer, settings) -> None:
    """Both part types, and every cell read back."""
    settings.OPTI_COMMAND = command(floor)
    job = post(api)

    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert_sheets(job, floor)
    assert timeline(job) == [
        "JOB_CREATED",
        "STATE_PREPARED",
        "BACKING_EDGE_RESET",
        *(f"STATE_{state}" for state in HAPPY_PATH[1:]),
    ]
    (name,) = job.delivery_names
    assert [path.name for path in floor.processed.iterdir()] == [name]
    assert list(floor.inbox.iterdir()) == []
    assert (floor.processed / name).read_bytes() == api.get(f"jobs/{job.pk}/xml").content
    assert job.backing_edge_reset_count == 1
    assert job.customer == customer
    assert job.solution["patterns"] == 2
    assert (job.claim_token, job.lease_until, job.error_code) == (None, None, "")


def test_in_the_demo_mode_a_runs_its_command_although_the_simulator_watches(api, floor, customer, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    demo = player(floor, modes="BC")
    own, other = post(api), post(api, order_id="S-2", opti_mode="C")
    tick(patient=False)  # as a worker, which starts no command

    demo.look()
    solved = [path.name for path in floor.export.iterdir()]
    work_until(own, "DONE", machines=demo)

    assert solved == [f"{other.pk}_solution.xml"]
    assert own.opti_ended_at is not None, "the command ran"


def test_mode_c_waits_for_the_operator_and_leaves_the_sheets_alone(api, floor, customer) -> None:
    """Hold, start by hand, approve, second pass without rewriting."""
    job = post(api, opti_mode="C")

    work_until(job, "HOLD")
    assert (job.error_code, job.manual_trigger_approved) == ("E_OPERATOR_TRIGGER_REQUIRED", False)
    assert_sheets(job, floor)
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in floor.imports.iterdir()}
    machines = player(floor)
    machines.look()  # the operator starts OptiPlanning, which solves, before anything is approved
    assert api.post(f"jobs/{job.pk}/approve", {"reason": "started"}).status_code == 200
    work_until(job, "DONE", machines=machines)

    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in floor.imports.iterdir()} == before
    assert job.manual_trigger_approved
    events = timeline(job)
    assert events.count("STATE_HOLD") == events.count("HOLD_APPROVED") == events.count("STATE_OPTI_RUNNING") == 1
    assert events.count("BACKING_EDGE_RESET") == 1
    assert len(list(floor.processed.iterdir())) == 1
    approved = Event.objects.of(job).get(event_type="HOLD_APPROVED")
    assert (approved.actor, approved.message) == ("key:service-operator:test", "started")


def test_one_solution_for_each_sheet_when_the_rules_say_so(api, floor, customer, rules_file) -> None:
    """`xml_expected: batch`; all files are handed over, and come as one archive."""
    rules_file.write_text(rules_file.read_text().replace('"xml_expected": "job"', '"xml_expected": "batch"'))
    job = post(api, opti_mode="C")
    machines = player(floor)
    work_until(job, "HOLD", machines=machines)
    api.post(f"jobs/{job.pk}/approve")

    work_until(job, "DONE", machines=machines)

    assert len(list(floor.processed.iterdir())) == len(job.delivery_names) == 2
    assert api.get(f"jobs/{job.pk}/xml")["Content-Type"] == "application/zip"


def test_rules_fixed_on_disk_let_an_approved_job_through_without_a_restart(
    api, floor, customer, settings, rules_file
) -> None:
    """Fix, then approve; broken rules meanwhile leave the last good ones in force."""
    settings.OPTI_COMMAND = command(floor)
    good = rules_file.read_text()
    job = post(api, parts=[GOVDE | {"thickness_mm": 16}])
    work_until(job, "HOLD")
    assert job.error_code == "E_TRIM_RULE_MISSING"
    assert "g1" in job.error_message

    rules_file.write_text(good.replace('"18": 10', '"18": 10,, "16": 8'))
    api.post(f"jobs/{job.pk}/approve")
    work_until(job, "HOLD")
    rules_file.write_text(good.replace('"18": 10', '"18": 10, "16": 8'))
    api.post(f"jobs/{job.pk}/approve")
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert cells(floor.imports / job.files[0]["name"])[0][5] == "GOVDE_g1_TRIM_8.00"


def test_a_job_held_for_its_customer_goes_on_when_the_customer_is_known(api, floor, settings) -> None:
    settings.OPTI_COMMAND = command(floor)
    job = post(api)
    work_until(job, "HOLD")
    assert job.error_code == "E_CRM_NO_MATCH"

    assert api.post("customers", {"phone": "+90 (555) 123-45-67", "name": "Ayşe"}).status_code == 201
    api.post(f"jobs/{job.pk}/approve")

    work_until(job, "DONE", machines=player(floor, only="saw"))
    assert job.customer.phone == "+905551234567"


def test_a_changed_sheet_is_not_what_the_operator_started(api, floor, customer, rules_file) -> None:
    """Rules changed between hold and approval: the approval was for other sheets, so it is asked for again."""
    good = rules_file.read_text()
    job = post(api, opti_mode="C", parts=[GOVDE])
    work_until(job, "HOLD")

    rules_file.write_text(good.replace('"18": 10', '"18": 12'))
    api.post(f"jobs/{job.pk}/approve")
    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("HOLD", "E_OPERATOR_TRIGGER_REQUIRED")
    assert not job.manual_trigger_approved
    assert cells(floor.imports / job.files[0]["name"])[0][5] == "GOVDE_g1_TRIM_12.00"
