"""An order's priority: accepted and shown, and no part of the order."""

import pytest

from orchestrator.models import Job
from tests.support.cutting_jobs import error, order_body

pytestmark = pytest.mark.django_db


def test_a_priority_is_stored_beside_the_order(api) -> None:
    urgent = api.post("jobs", order_body(priority="urgent")).json()["job"]
    again = api.post("jobs", order_body()).json()["job"]
    refused = api.post("jobs", order_body(order_id="S-2", priority="now"))

    assert (urgent["priority"], again["priority"], again["id"]) == ("urgent", "urgent", urgent["id"])
    assert "priority" not in Job.objects.get().payload
    assert error(refused)["code"] == "E_VALIDATION"
