"""Priorities: urgent jobs go first, low ones are not starved, and operators change them while a job waits."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.lock.leases import no_lease
from kilit.lock.models import Activity, Event
from kilit.lock.priorities import Priority, change_priority
from kilit.workers.models import Heartbeat
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db

AGE = {
    PdfJob: "UPDATE pdfjobs_pdfjob SET queued_at = now() - %s::interval WHERE id = %s",
    Job: "UPDATE orchestrator_job SET next_run_at = now() - %s::interval WHERE id = %s",
}
# What is claimed after what, and how long each has waited.
ORDERS: dict[str, list[tuple[str, str]]] = {
    "urgent before what waits for less than a day": [("urgent", "0 s"), ("normal", "23 hours"), ("low", "23 hours")],
    "by priority when they came at once": [("urgent", "0 s"), ("high", "0 s"), ("normal", "0 s"), ("low", "0 s")],
    "high before what waits for less than an hour": [("high", "0 s"), ("normal", "59 minutes"), ("low", "59 minutes")],
    "low before a normal one that came an hour later": [("low", "61 minutes"), ("normal", "0 s")],
    "low before an urgent one that came a day later": [("low", "26 hours"), ("urgent", "50 minutes")],
    "the oldest of a priority": [("low", "2 s"), ("low", "1 s")],
}


@pytest.fixture
def make_waiting(admin_user, sql) -> Callable[..., Any]:
    """Store a job that has waited for some time."""

    def make(model: type, priority: str, waited: str) -> Any:
        number = model.objects.count()
        value = Priority[priority.upper()]
        if model is PdfJob:
            row: Any = PdfJob.objects.create(
                owner=admin_user, job_key=f"{number}", template_name="invoice", priority=value
            )
        else:
            row = make_job(order_id=f"S-{number}", priority=priority)
        sql(AGE[model], waited, row.pk)
        return row

    return make


def claim(model: type) -> Any:
    claimed = model.objects.claim()
    return claimed[0] if isinstance(claimed, list) else claimed


@pytest.mark.parametrize("model", AGE)
@pytest.mark.parametrize("order", ORDERS)
def test_claimed_in_order(order, model, make_waiting) -> None:
    rows = [make_waiting(model, *each) for each in reversed(ORDERS[order])][::-1]

    assert [claim(model) for _ in rows] == rows


@pytest.mark.parametrize("model", AGE)
def test_a_low_job_is_overtaken_only_by_what_came_within_a_day(model, make_waiting) -> None:
    """However many urgent jobs keep coming: time is moved by data."""
    low = make_waiting(model, "low", "26 hours")
    for _ in range(20):
        make_waiting(model, "urgent", "30 minutes")

    assert claim(model) == low


def test_a_job_that_is_not_due_waits_whatever_its_priority(make_waiting) -> None:
    make_waiting(Job, "urgent", "-1 minute")
    due = make_waiting(Job, "low", "0 s")

    assert Job.objects.claim() == due
    assert Job.objects.claim() is None


def test_optiplanning_takes_the_urgent_job_first(make_waiting, sql) -> None:
    first, second = (make_waiting(Job, priority, "0 s") for priority in ("normal", "urgent"))
    for verb in ("prepare", "import_files"):
        Job.objects.move(verb)
    sql(
        "UPDATE orchestrator_job SET next_run_at = now() + interval '1 minute', attempt_started_at = now(),"
        " imported_at = now() - CASE WHEN priority = 0 THEN interval '10 minutes' ELSE interval '0' END"
    )

    assert Job.objects.next_for_slot().get() == second
    assert Job.objects.wake_next() == 1
    held = Job.objects.claim()
    assert held == second
    sql("UPDATE orchestrator_job SET next_run_at = now() WHERE id = %s", first.pk)
    other = Job.objects.claim()
    assert not Job.objects.take_slot(other), "it is the turn of the urgent one"
    assert Job.objects.take_slot(held)
    Job.objects.filter(pk=other.pk).update(**no_lease())


def test_an_operator_changes_the_priority_of_a_waiting_job(make_waiting, make_person) -> None:
    operator, viewer = make_person("ayse", role="operator"), make_person("ali", role="viewer")
    for model, address in ((PdfJob, "/admin/pdfjobs/pdfjob/"), (Job, "/admin/orchestrator/job/")):
        row = make_waiting(model, "normal", "0 s")
        page = f"{address}{row.pk}/change/"
        assert "Priority: normal" in text_of(operator, page)
        assert "Priority: normal" not in text_of(viewer, page)
        assert 'title="Priority"' not in operator.get(address).text

        answer = operator.post(f"{address}{row.pk}/priority/", {"priority": "urgent"}, follow=True)

        assert "The priority is now urgent." in answer.text
        assert "Priority set to urgent by ayse" in answer.text
        assert 'title="Priority">urgent' in operator.get(address).text
        row.refresh_from_db()
        assert row.priority == Priority.URGENT
        event = Event.objects.get(event_type="PRIORITY_CHANGED", object_id=row.pk)
        assert (event.actor, event.details["verb"], event.from_state, event.to_state) == (
            "operator:ayse",
            "priority_urgent",
            row.status,
            row.status,
        )
        assert Activity.objects.get(object_id=str(row.pk), verb="priority_urgent").person == "ayse"
        assert viewer.post(f"{address}{row.pk}/priority/", {"priority": "low"}).status_code == 403
        assert (
            "Choose a priority." in operator.post(f"{address}{row.pk}/priority/", {"priority": "x"}, follow=True).text
        )
        assert operator.get(f"{address}{row.pk}/priority/").status_code == 302
        row.refresh_from_db()
        assert row.priority == Priority.URGENT


def test_a_claimed_job_keeps_its_priority(make_waiting, make_person) -> None:
    operator = make_person("ayse", role="operator")
    row = make_waiting(PdfJob, "normal", "0 s")
    PdfJob.objects.claim()

    assert "Priority: normal" not in text_of(operator, f"/admin/pdfjobs/pdfjob/{row.pk}/change/")
    refused = operator.post(f"/admin/pdfjobs/pdfjob/{row.pk}/priority/", {"priority": "urgent"}, follow=True)

    assert "Nothing was changed" in refused.text
    row.refresh_from_db()
    assert row.priority == Priority.NORMAL
    with acting_as("operator:ayse"):
        assert not change_priority(row, Priority.HIGH, waiting=["queued"])
    assert not Event.objects.filter(event_type="PRIORITY_CHANGED").exists()


def test_a_job_says_how_many_are_ahead_of_it_by_priority(make_waiting, admin_client) -> None:
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    low = make_waiting(PdfJob, "low", "10 minutes")
    make_waiting(PdfJob, "normal", "0 s")

    assert "Jobs of its owner ahead of it: 1." in text_of(admin_client, f"/admin/pdfjobs/pdfjob/{low.pk}/change/")
