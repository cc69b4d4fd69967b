"""Retry, approve and cancel."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db.models.functions import Now

from kilit.lock.leases import ClaimLost, new_lease
from kilit.lock.models import Event
from orchestrator.errors import HOLD_CODES, PERMANENT_CODES, Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from orchestrator.states import CANCELLABLE, JOBS, WORKING, JobState
from tests.support.api import Api
from tests.support.cutting_jobs import CUTTING_JOBS, error, new_job

pytestmark = pytest.mark.django_db

row_in = CUTTING_JOBS.row_in


def failed(code: Code = Code.OPTI_XML_TIMEOUT, **columns) -> Job:
    return new_job(**columns).move("fail", **failure(JobError(code, "It failed.")))


def held(code: Code, **columns) -> Job:
    return new_job(**columns).move("hold", **failure(JobError(code, "Fix it.")))


def waits(job: Job) -> timedelta:
    """Return how long until a job is due, as the database sees it."""
    return job.next_run_at - Job.objects.values_list(Now(), flat=True).get(pk=job.pk)


def events(job: Job) -> list[str]:
    return [event.event_type for event in Event.objects.of(job)]


# Retry


@pytest.mark.parametrize(("count", "minutes"), [(0, 1), (1, 3), (2, 9)])
def test_a_retry_counts_and_waits_longer_each_time(api, count, minutes) -> None:
    job = failed(retry_count=count)

    answer = api.post(f"jobs/{job.pk}/retry", {"reason": "again"})

    job.refresh_from_db()
    assert answer.status_code == 200
    assert (job.status, job.retry_count, job.claim_token) == ("NEW", count + 1, None)
    assert timedelta(minutes=minutes - 1) < waits(job) <= timedelta(minutes=minutes)
    assert events(job)[-2:] == ["STATE_NEW", "JOB_RETRY_SCHEDULED"]
    assert Event.objects.of(job).last().message == "again"


@pytest.mark.parametrize(
    ("code", "count", "refusal"),
    [*((code, 0, code) for code in sorted(PERMANENT_CODES)), (Code.OPTI_XML_TIMEOUT, 3, Code.RETRY_LIMIT_REACHED)],
)
def test_a_permanent_error_and_one_at_the_limit_are_not_retried(api, code, count, refusal) -> None:
    job = failed(code, retry_count=count)

    answer = api.post(f"jobs/{job.pk}/retry")

    assert (answer.status_code, error(answer)["code"]) == (409, refusal)
    job.refresh_from_db()
    assert (job.status, job.retry_count) == ("FAILED", count)


@pytest.mark.parametrize("code", sorted(set(Code) - PERMANENT_CODES - {Code.HANDOVER_UNKNOWN}))
def test_every_other_error_may_be_retried(api, code) -> None:
    assert api.post(f"jobs/{failed(code).pk}/retry").status_code == 200


@pytest.mark.parametrize(
    ("verb", "code", "state"),
    [
        (verb, code, state)
        for verb, code in {"retry": "MOVE_REFUSED", "approve": "E_JOB_NOT_IN_HOLD", "cancel": "MOVE_REFUSED"}.items()
        for state in sorted(set(JobState) - set(JOBS.moves[verb].sources))
    ],
)
def test_a_job_in_another_state_is_not_decided(api, verb, code, state) -> None:
    """Only a failed job is retried, only a held one approved, and none cancelled that the saw may have."""
    job = row_in(state)

    answer = api.post(f"jobs/{job.pk}/{verb}")

    assert (answer.status_code, error(answer)["code"], error(answer)["state"]) == (409, code, state)
    job.refresh_from_db()
    assert (job.status, job.retry_count) == (state, 0)


@pytest.mark.parametrize(
    "code",
    [Code.OPTI_XML_TIMEOUT, Code.OPTI_RUNNER_FAILED, Code.CANCELLED, Code.UNKNOWN],
)
def test_a_retry_that_needs_optiplanning_asks_the_operator_again(api, code) -> None:
    job = failed(code, manual_trigger_approved=True, attempt_started_at=Now())

    api.post(f"jobs/{job.pk}/retry")

    job.refresh_from_db()
    assert (job.manual_trigger_approved, job.xml_sha256, job.attempt_started_at) == (False, "", None)


@pytest.mark.parametrize("code", [Code.OSI_ACK_TIMEOUT, Code.OSI_ACK_FAILED, Code.CANCELLED, Code.UNKNOWN])
def test_a_retry_of_the_delivery_alone_keeps_solution_and_trigger(api, code) -> None:
    """Whatever failed after it was collected: the saw may have the solution, so no other is made."""
    job = failed(code, manual_trigger_approved=True, xml_sha256="0" * 64)

    api.post(f"jobs/{job.pk}/retry")

    job.refresh_from_db()
    assert (job.manual_trigger_approved, job.xml_sha256) == (True, "0" * 64)


# Approve


@pytest.mark.parametrize("code", sorted(HOLD_CODES))
def test_an_approved_job_is_new_and_due(api, code) -> None:
    job = held(code)

    answer = api.post(f"jobs/{job.pk}/approve")

    job.refresh_from_db()
    assert answer.status_code == 200
    assert (job.status, job.error_code, job.error_message, job.claim_token) == ("NEW", "", "", None)
    assert job.manual_trigger_approved is (code == Code.OPERATOR_TRIGGER_REQUIRED)
    assert waits(job) <= timedelta(0)
    assert events(job)[-2:] == ["STATE_NEW", "HOLD_APPROVED"]


def test_no_other_approval_forgets_the_operators_trigger(api) -> None:
    job = held(Code.TRIM_RULE_MISSING, manual_trigger_approved=True)

    api.post(f"jobs/{job.pk}/approve")

    job.refresh_from_db()
    assert job.manual_trigger_approved


# Cancel


@pytest.mark.parametrize("state", CANCELLABLE)
def test_a_waiting_job_is_cancelled(api, state) -> None:
    job = row_in(state)

    answer = api.post(f"jobs/{job.pk}/cancel", {"reason": "The customer called."})

    job.refresh_from_db()
    assert answer.status_code == 200
    assert (job.status, job.error_code, job.error_message) == ("FAILED", "E_CANCELLED", "The customer called.")
    assert Event.objects.of(job).last().message == "The customer called."


def test_a_job_in_a_runners_hands_is_not_cancelled(api) -> None:
    job = new_job(**new_lease(timedelta(minutes=1)))

    answer = api.post(f"jobs/{job.pk}/cancel")

    assert answer.status_code == 409
    assert error(answer)["code"] == "JOB_IS_BUSY"
    assert answer["Retry-After"] == "60"
    job.refresh_from_db()
    assert job.status == "NEW"


def test_a_job_that_optiplanning_works_on_is_cancelled_under_its_runner(api) -> None:
    """It would hold the only slot for twenty minutes; its runner finds its claim gone."""
    job = row_in("OPTI_RUNNING")
    Job.objects.filter(pk=job.pk).update(**new_lease(timedelta(minutes=1)))
    held = Job.objects.get(pk=job.pk)

    answer = api.post(f"jobs/{job.pk}/cancel")

    assert answer.status_code == 200
    job.refresh_from_db()
    assert (job.status, job.error_code, job.claim_token) == ("FAILED", "E_CANCELLED", None)
    with pytest.raises(ClaimLost):
        held.renew()


# Double clicks


@pytest.mark.parametrize("verb", ["retry", "approve", "cancel"])
def test_a_click_repeated_by_eight_threads_counts_once(transactional_db, make_api, in_threads, verb) -> None:
    key = make_api().headers["x-api-key"]
    job = {"retry": failed, "approve": lambda: held(Code.OPERATOR_TRIGGER_REQUIRED), "cancel": new_job}[verb]()

    answers = in_threads(lambda _: Api(key, root="/").post(f"jobs/{job.pk}/{verb}").status_code, count=8)

    assert sorted(answers) == [200] + [409] * 7
    job.refresh_from_db()
    assert job.retry_count == (1 if verb == "retry" else 0)
    moves = Event.objects.of(job).filter(details__verb=verb)
    assert moves.count() == 1
    extra = {"retry": "JOB_RETRY_SCHEDULED", "approve": "HOLD_APPROVED"}.get(verb)
    assert Event.objects.of(job).filter(event_type=extra).count() == (1 if extra else 0)


# The table against the document


def test_the_table_has_the_arrows_of_the_document_and_those_of_our_decisions() -> None:
    path = ["NEW", "PREPARED", "OPTI_IMPORTED", "OPTI_RUNNING", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]
    arrows = set(pairwise(path))
    arrows |= {("NEW", "HOLD"), ("OPTI_IMPORTED", "HOLD"), ("HOLD", "NEW"), ("FAILED", "NEW"), ("HOLD", "FAILED")}
    arrows |= {(state, "FAILED") for state in path[:-1]}
    arrows |= {("PREPARED", "HOLD"), ("OPTI_IMPORTED", "OPTI_DONE"), ("FAILED", "DONE"), ("FAILED", "OPTI_DONE")}
    arrows |= {("PREPARED", "OPTI_DONE")}  # the built-in optimiser, decision 0028

    assert JOBS.edges() == arrows
    assert JOBS.terminal() == {"DONE"}
    assert {str(state) for state in WORKING} == set(path[:-1])
