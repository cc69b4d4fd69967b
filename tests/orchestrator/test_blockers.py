"""Cutting jobs in the console: why one does not move, error groups, sheets, and lists among many."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.lock.leases import new_lease
from kilit.workers.models import Heartbeat, Runner
from orchestrator.models import Job
from orchestrator.models.job import LEASE
from orchestrator.states import JobState
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import CUTTING_JOBS, LIST, held, make_job, page_of

pytestmark = pytest.mark.django_db


def row_in(state: str, **columns: Any) -> Job:
    """Return a job in a state, with an order to show."""
    whole = make_job(order_id=f"S-{state}")
    job = CUTTING_JOBS.row_in(state, order_id=f"T-{state}", payload=whole.payload, **columns)
    Job.objects.filter(pk=job.pk).update(imported_at=Now())
    job.refresh_from_db()
    return job


def blockers_of(client, job: Job) -> list[tuple[str, str]]:
    answer = page_of(client, job)
    assert answer.status_code == 200
    return [(reason.kind, reason.sentence) for reason in answer.context["blockers"]]


@pytest.mark.parametrize(
    ("sent", "shown"), [({"width_mm": 1830, "height_mm": 3660}, "1830 × 3660"), (None, "2100 × 2800")]
)
def test_the_operator_reads_which_plate_to_choose(make_person, customer, floor, sent, shown) -> None:
    job = make_job(opti_mode="C", plate_size=sent)

    tick(patient=False)

    assert ("blocked", f"Choose the plate {shown} mm.") in blockers_of(make_person(role="viewer"), job)


def test_a_state_has_its_words_in_timeline_and_diagram(make_person) -> None:
    job = row_in("XML_READY")

    page = make_person(role="viewer").get(f"{LIST}{job.pk}/change/").text

    timeline = page[page.index('data-live-key="') :]
    assert re.search(r"New state:</span>\s*XML ready\s*</span>", timeline)
    assert "OPTI_DONE → XML_READY" in timeline, "the names are among the details"
    assert "● XML ready</text>" in page
    assert "✓ Optimization finished</text>" in page


def test_the_way_of_a_job_has_every_state_up_to_done(make_person) -> None:
    """The shortest one would lead through FAILED, where an operator may say that the job was cut."""
    job = make_job()

    answer = make_person(role="viewer").get(f"{LIST}{job.pk}/change/")

    way = [state for state in JobState if state not in ("HOLD", "FAILED")]
    assert [node.state for node in answer.context["stepper"]] == way


def test_a_taken_slot_names_and_links_the_job_that_has_it(make_person) -> None:
    waiting = row_in("OPTI_IMPORTED")
    busy = row_in("OPTI_RUNNING")

    page = make_person(role="viewer").get(f"{LIST}{waiting.pk}/change/").content.decode()

    assert "OptiPlanning runs one job at a time and is busy with another." in page
    assert f'href="{LIST}{busy.pk}/change/"' in page
    assert "Order T-OPTI_RUNNING" in page


def test_a_next_run_in_the_future_and_no_worker_are_reported(make_person) -> None:
    job, client = make_job(), make_person(role="viewer")
    Job.objects.filter(pk=job.pk).update(next_run_at=datetime.now(UTC) + timedelta(minutes=20))

    reasons = blockers_of(client, job)
    assert reasons[0][1].startswith("Next check at ")
    assert reasons[1] == (
        "blocked",
        "No worker and no runner is alive: manage.py runworkers, or orchestrator_tick --watch.",
    )
    Job.objects.filter(pk=job.pk).update(next_run_at=Now())
    Heartbeat.objects.create(name="here", alive_at=Now())
    assert blockers_of(client, job) == [
        ("ready", "Nothing: it is due, and a worker should start it within seconds."),
    ]


WATCH = "manage.py orchestrator_tick --watch."
NEEDS_A_RUNNER = {
    "OptiPlanning is to be started": ("OPTI_IMPORTED", {"opti_mode": "A"}, "The next step takes long, and no runner"),
    "OptiPlanning ran with one that is gone": ("OPTI_RUNNING", {"opti_mode": "B"}, "The next step takes long, and no"),
    "very many sheets": ("PREPARED", {"batch_count": 101}, "The next step takes long, and no runner is alive"),
    "the floor is elsewhere": ("NEW", {}, "No runner is alive on the machine of the folders"),
}


@pytest.mark.parametrize("why", NEEDS_A_RUNNER)
def test_a_job_that_only_a_runner_takes_says_whether_one_lives(why: str, make_person, settings) -> None:
    state, columns, sentence = NEEDS_A_RUNNER[why]
    job, client = row_in(state, **columns), make_person(role="viewer")
    settings.FLOOR_IS_HERE = "elsewhere" not in why
    Heartbeat.objects.create(name="here", alive_at=Now())  # workers do not help

    (kept,) = (sentence for kind, sentence in blockers_of(client, job) if kind == "blocked")
    assert kept.startswith(sentence)
    assert kept.endswith(WATCH)
    Runner.objects.create(name="killed", queue="cutting_job", pid=1, alive_at=Now() - timedelta(minutes=1))
    Runner.objects.create(name="of another queue", queue="parcel", pid=2)
    assert ("blocked", kept) in blockers_of(client, job)

    Runner.objects.create(name="here", queue="cutting_job", pid=3)

    assert "blocked" not in dict(blockers_of(client, job))


def test_a_lease_says_until_when_it_is_held(make_person) -> None:
    job = make_job()
    Job.objects.filter(pk=job.pk).update(**new_lease(LEASE))

    answer = make_person(role="viewer").get(f"{LIST}{job.pk}/change/")

    assert "holds it until" in answer.context["blockers"][0].sentence
    assert [label for label, _ in answer.context["holdings"]] == ["Lease until", "Claim"]


def test_a_hand_made_post_changes_no_field(admin_client) -> None:
    job = make_job()
    before = Job.objects.filter(pk=job.pk).values().get()
    form = {field.name: "1" for field in Job._meta.fields} | {"status": "DONE"}

    assert admin_client.post(f"{LIST}{job.pk}/change/", form).status_code == 403
    assert Job.objects.filter(pk=job.pk).values().get() == before


def test_held_jobs_are_a_group_that_can_be_approved(make_person) -> None:
    for number in (1, 2):
        held(message=f"No customer has the phone +90555123456{number}.", order_id=f"S-{number}")
    client = make_person()

    (shown,) = client.get(f"{LIST}groups/").context["groups"]

    assert (shown.group.total, shown.group.shape) == (2, "No customer has the phone +#.")
    assert shown.message == "No customer has the phone …4562.", "of the newest, masked"
    assert shown.action.link == f"{LIST}add-customers/"
    assert len(client.get(shown.list_href).context["cl"].result_list) == 2


def test_sheets_are_handed_out_byte_for_byte_even_when_optiplanning_took_them(make_person, floor, customer) -> None:
    job = make_job(opti_mode="C")
    tick(patient=False)
    job.refresh_from_db()
    assert job.files, job.error_message
    client, address = make_person(role="viewer"), f"{LIST}{job.pk}/sheet/0/"

    lying = client.get(address)
    (floor.imports / job.files[0]["name"]).unlink()
    made_anew = client.get(address)

    for answer in (lying, made_anew):
        assert answer.status_code == 200
        assert hashlib.sha256(answer.content).hexdigest() == job.files[0]["sha256"]
        assert job.files[0]["name"] in answer.headers["Content-Disposition"]
    Job.objects.filter(pk=job.pk).update(files=[{**job.files[0], "sha256": "0" * 64}])
    assert client.get(address).status_code == 410
    assert client.get(f"{LIST}{job.pk}/sheet/7/").status_code == 404
