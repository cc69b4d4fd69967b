"""Due rows that nobody takes for ten minutes are a problem that names what is missing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.db.models.functions import Now

from kilit.batches.models import BulkAction
from kilit.lock.leases import new_lease
from kilit.problems.registry import Problem, Severity
from kilit.workers.models import Bell, Heartbeat, Runner
from ociqueue.models import Adjustment, Circuit, Conversion, Credentials, ImportJob, Site
from ociqueue.states import SyncMethod
from orchestrator.models import Job
from outbox.models import Endpoint, OutboxMessage
from pdfjobs.models import PdfJob
from tests.support.adjusted import make_sold, restate
from tests.support.conversions import new_conversion
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_site, problems
from tests.support.outbox import make_endpoint, make_message
from tests.support.pdf_jobs import bare_job
from tests.support.uploads import account, trip

pytestmark = pytest.mark.django_db

AN_HOUR, ELEVEN, NINE = timedelta(hours=1), timedelta(minutes=11), timedelta(minutes=9)


def api_site() -> Site:
    site = make_site(sync_method=SyncMethod.API)
    Credentials.objects.store(site, account())
    return site


def bulk_action() -> None:
    asker = User.objects.create(username="asker")
    BulkAction.objects.create(
        queue="conversion", action="retry", filters={"status": "FAILED"}, reason="fixed", asked_by=asker
    )


def csv_import() -> None:
    file = {"file_name": "a.csv", "size": 10, "kind": "conversions", "encoding": "utf-8"}
    ImportJob.objects.create(**file, site=make_site(), asked_by=User.objects.create(username="asker"))


# How a due row is made, and the column that says since when it is due.
DUE: dict[str, tuple[type[Any], str, Callable[[], object]]] = {
    "oci_upload-conversion": (Conversion, "updated_at", lambda: new_conversion(api_site()).save()),
    "oci_upload-adjustment": (Adjustment, "updated_at", lambda: restate(make_sold(api_site()))),
    "pdf-pdfjob": (PdfJob, "queued_at", bare_job),
    "message-outboxmessage": (OutboxMessage, "next_try_at", make_message),
    "bulk_actions-bulkaction": (BulkAction, "updated_at", bulk_action),
    "oci_import-importjob": (ImportJob, "updated_at", csv_import),
}


def be_due_for(model: type[Model], column: str, span: timedelta) -> None:
    Conversion.objects.update(updated_at=Now() - AN_HOUR)  # an adjustment is due no longer than its conversion is sent
    model._default_manager.update(**{column: Now() - span})


@pytest.fixture
def worker() -> Heartbeat:
    return Heartbeat.objects.create(name="here:1:a", alive_at=Now())


def untaken() -> list[Problem]:
    return problems("not-taken")


@pytest.mark.parametrize("name", DUE)
@pytest.mark.usefixtures("worker")
def test_rows_that_are_due_for_ten_minutes_are_a_problem(name: str) -> None:
    model, column, make = DUE[name]
    make()
    be_due_for(model, column, NINE)
    assert untaken() == []

    be_due_for(model, column, ELEVEN)

    (problem,) = untaken()
    assert (problem.name, problem.severity) == (name, Severity.CRITICAL)
    assert problem.title == f"Due for more than ten minutes: {model._meta.verbose_name_plural}"
    assert problem.cause.startswith("workers run and take none")


def test_while_no_worker_runs_that_is_the_only_problem() -> None:
    a_late_document()

    assert [problem.kind for problem in problems("none-running")] == ["none-running"]
    assert untaken() == []


@pytest.mark.parametrize("action", ["", "Purchase"])
@pytest.mark.parametrize("is_probe_due", [False, True])
@pytest.mark.usefixtures("worker")
def test_rows_behind_an_open_circuit_have_a_line_of_their_own(action: str, is_probe_due: bool) -> None:
    site = api_site()
    new_conversion(site, action="Purchase").save()
    be_due_for(Conversion, "updated_at", ELEVEN)
    circuit = trip(site, action=action)
    if is_probe_due:
        Circuit.objects.filter(pk=circuit.pk).probe_now()

    assert untaken() == []


def its_first_message_is_sent(endpoint: Endpoint) -> None:
    OutboxMessage.objects.filter(endpoint=endpoint).claim(limit=1)


def its_wait_has_just_ended(endpoint: Endpoint) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(wait_until=Now())


@pytest.mark.parametrize("late_by_itself", [its_first_message_is_sent, its_wait_has_just_ended])
@pytest.mark.usefixtures("worker")
def test_a_slow_receiver_is_no_problem_of_the_workers(late_by_itself: Callable[[Endpoint], None]) -> None:
    slow, other = make_endpoint(), make_endpoint(url="https://other.example/hook")
    messages = [make_message(endpoint=slow), make_message(endpoint=slow)]
    be_due_for(OutboxMessage, "next_try_at", ELEVEN)
    late_by_itself(slow)
    assert OutboxMessage.objects.filter(pk__in=[each.pk for each in messages]).due().exists()
    assert untaken() == []

    make_message(endpoint=other, next_try_at=Now() - ELEVEN)

    assert [problem.name for problem in untaken()] == ["message-outboxmessage"]


def a_late_document() -> None:
    bare_job()
    be_due_for(PdfJob, "queued_at", ELEVEN)


@pytest.mark.usefixtures("worker")
def test_workers_that_run_and_take_none_are_told_from_those_that_are_missing() -> None:
    a_late_document()

    (problem,) = untaken()

    assert problem.severity == Severity.CRITICAL
    assert problem.cause.startswith("workers run and take none")


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("sign", ["a row that is taken", "a bell that nobody answers"])
def test_a_queue_that_is_behind_is_no_more_than_a_warning(sign: str) -> None:
    a_late_document()
    if sign == "a row that is taken":
        taken = bare_job()
        PdfJob.objects.filter(pk=taken.pk).move("claim", started_at=Now(), **new_lease(AN_HOUR))
    else:
        Bell.objects.create(name="pdf", rung_at=Now() - AN_HOUR)

    (problem,) = untaken()

    assert problem.severity == Severity.WARNING
    assert problem.cause.startswith("the workers are busy with others")


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        ({}, "No worker and no runner is alive: manage.py runworkers, or orchestrator_tick --watch."),
        ({"opti_mode": "D", "status": "PREPARED"}, "The next step takes long, and no runner is alive"),
    ],
)
def test_a_cutting_job_that_nobody_takes_names_the_runner_that_is_missing(
    columns: dict[str, str], missing: str
) -> None:
    job = make_job(opti_mode=columns.get("opti_mode", "A"))
    if columns:
        Job.objects.filter(pk=job.pk).move("prepare", plate_size={}, batch_count=1, attempt_started_at=Now())
        Heartbeat.objects.create(name="here:1:a", alive_at=Now())
    Job.objects.update(next_run_at=Now() - ELEVEN)

    (problem,) = problems("stuck")
    assert missing in problem.cause

    Runner.objects.create(name="here:2:b", queue="cutting_job", pid=2)
    (problem,) = problems("stuck")
    assert "without a runner, or held by a dead runner" in problem.cause
