"""What every queue gets by its declaration: its jobs are found, explained, counted and retried."""

import pytest

from kilit.access.key_scopes import KeyScope
from kilit.batches.queues import queues
from tests.support.api import Api
from tests.support.ask import make_key
from tests.support.people import make_user
from tests.support.queue_rows import rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return Api(make_key(make_user("owner", role="owner"), KeyScope.READ, KeyScope.OPERATE))


@pytest.mark.parametrize("name", queues)
def test_a_failed_job_is_found_explained_and_retried(api, name) -> None:
    row = rows_of(name).failed()

    (found,) = api.post("ask/find", {"text": str(row.pk), "queue": name}).json()["jobs"]
    told = api.post("ask/explain", {"job": str(row)}).json()
    groups = api.post("ask/error_groups", {"queue": name}).json()["groups"]
    retried = api.post("ask/retry", {"ids": [str(row)], "reason": "It is fixed."}).json()
    again = api.post("ask/explain", {"job": str(row.pk)}).json()

    assert (found["queue"], found["state"], found["id"]) == (name, row.status, str(row.pk))
    assert told["job"] == found
    assert told["error"]["code"] == found["error_code"] == groups[0]["code"]
    assert {"retry"} <= {action["verb"] for action in told["actions"] if action["allowed"]}
    assert (retried["ids"], retried["message"].count("1")) == ([found["id"]], 2)
    assert again["job"]["state"] != found["state"]
    assert "the API key laptop of owner" in again["timeline"][0]["sentence"] + again["timeline"][1]["sentence"]


@pytest.mark.parametrize("name", queues)
def test_jobs_that_wait_are_counted_and_say_why_they_wait(api, name) -> None:
    row = rows_of(name).waiting()

    (queue,) = api.post("ask/queue_stats", {"queue": name}).json()["queues"]
    told = api.post("ask/explain", {"job": str(row.pk), "queue": name}).json()

    assert queue["counts"][row.status] >= 1
    assert told["blockers"]
    assert told["error"] is None
