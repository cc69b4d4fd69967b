"""What webhooks say about cutting jobs."""

import json

import pytest
from django.urls import reverse

from kilit.api.webhooks import Described, webhook_kinds
from kilit.lock.models import Event
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from orchestrator.states import JobState
from tests.support.cutting_jobs import CUTTING_JOBS, failed, make_job

pytestmark = pytest.mark.django_db


def described(name: str) -> Described:
    kind = webhook_kinds[name]
    (event,) = Event.objects.filter(queue=kind.queue, event_type__in=kind.event_types)
    return kind.describe([event])[event.pk]


def test_a_job_on_hold_is_reported_without_its_customer(customer) -> None:
    job = make_job(order_id="S-7")
    message = f"No match for {customer.name}, {customer.phone}, 0555 123 45 67 or a.yilmaz@example.com."
    Job.objects.filter(pk=job.pk).update(customer=customer, customer_snapshot_name="Yılmaz Mobilya")
    Job.objects.filter(pk=job.pk).move("hold", **failure(JobError(Code.CRM_NO_MATCH, message + " Yılmaz Mobilya")))

    found = described("cutting.hold")

    assert found.scope == ""
    assert found.data == {
        "id": str(job.pk),
        "order_id": "S-7",
        "status": "HOLD",
        "retry_count": 0,
        "error_code": "E_CRM_NO_MATCH",
        "error_message": "No match for …, …, …4567 or a…@example.com. …",
        "console_url": f"http://127.0.0.1:8000{reverse('admin:orchestrator_job_change', args=[job.pk])}",
    }
    for planted in ("Ayşe", "Yılmaz", "yilmaz", "555", "123 45"):
        assert planted not in json.dumps(found.data, ensure_ascii=False)


@pytest.mark.parametrize(("name", "state"), [("cutting.done", JobState.DONE), ("cutting.failed", JobState.FAILED)])
def test_the_end_of_a_job_is_reported(name: str, state: JobState) -> None:
    job = CUTTING_JOBS.row_in(state)

    data = described(name).data

    assert (data["id"], data["status"]) == (str(job.pk), state)


def test_many_events_are_described_with_one_query(django_assert_num_queries) -> None:
    for number in range(3):
        failed(order_id=f"S-{number}")
    events = list(Event.objects.filter(event_type="STATE_FAILED"))

    with django_assert_num_queries(1):
        assert len(webhook_kinds["cutting.failed"].describe(events)) == 3
