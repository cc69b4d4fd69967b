"""Bulk actions and exports of failed rows in the other two queues."""

import csv
from io import StringIO
from typing import Any

import pytest

from kilit.batches.models import BulkAction
from kilit.lock.models import Event
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from pdfjobs.models import PdfJob
from pdfjobs.operations import ALREADY_QUEUED
from pdfjobs.storage import artifacts
from tests.support.bulk_actions import PAGES, said, worked
from tests.support.cutting_jobs import make_job as make_cutting_job
from tests.support.fixtures.cutting_jobs import floor
from tests.support.fixtures.pdf_jobs import _own_store, artifact_folder, make_job
from tests.support.guarded_columns import write_unguarded
from tests.support.pdf_jobs import bring, new_job, some_user

__all__ = ["_own_store", "artifact_folder", "floor", "make_job"]

pytestmark = pytest.mark.django_db

PDF, CUTTING = "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/"


def asked(client: Any, address: str, **fields: Any) -> BulkAction:
    answer = client.post(address, {"reason": "fixed", **fields}, follow=True)
    assert answer.redirect_chain
    return BulkAction.objects.latest("created_at")


def downloaded(client: Any, address: str) -> list[dict[str, str]]:
    text = b"".join(client.get(address).streaming_content).decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline="")))


def failed_cutting_job(order_id: str, code: Code = Code.OPTI_RUNNER_FAILED, **columns: Any) -> Job:
    job = make_cutting_job(order_id=order_id).move("fail", **failure(JobError(code, "=no")))
    write_unguarded(Job.objects.filter(pk=job.pk), **columns) if columns else None
    return job


def test_pdf_jobs_are_retried_by_filter_and_duplicates_are_skipped(make_person, make_job) -> None:
    failed, twin, _ = make_job("failed"), make_job("failed"), make_job("succeeded")
    PdfJob(owner=twin.owner, job_key=twin.job_key, template_name="invoice").save()
    client = make_person()

    page = client.get(f"{PDF}all/retry/?status=failed")
    action = worked(asked(client, f"{PDF}all/retry/?status=failed"))

    assert page.context["sentences"][0] == "Retry: 1 matches (Failed: 1)."
    assert page.context["sentences"][-1] == f"Will not change: 1 (Failed: {ALREADY_QUEUED})."
    assert (action.status, action.moved_count) == ("DONE", 1)
    assert action.skipped == [["failed", ALREADY_QUEUED, 1]]
    assert PdfJob.objects.get(pk=failed.pk).status == "queued"


def test_a_preview_of_duplicates_matches_the_result(make_person, make_job) -> None:
    first = make_job("failed")
    second = bring(new_job(first.owner, job_key=first.job_key), "failed")
    client = make_person()

    chosen = {"action": "retry", "_selected_action": [str(first.pk), str(second.pk)]}
    asking = client.post(PDF, chosen).context
    fields = {"ids": f"{first.pk},{second.pk}", "reason": "x"}
    done = client.post(f"{PDF}act/retry_selected/", fields, follow=True)

    assert asking["sentences"][0] == "Retry: 1 of 2 selected."
    assert said(done) == [f"Retried 1 of 2; not changed: 1 (Failed: {ALREADY_QUEUED})."]


def test_an_unavailable_store_stops_the_action_with_a_message(make_person, make_job, monkeypatch) -> None:
    make_job("succeeded")

    def down(_: str) -> None:
        raise artifacts.StorageUnavailable("no route")

    monkeypatch.setattr(artifacts, "delete", down)
    action = worked(asked(make_person(), f"{PDF}all/expire/?status=succeeded"))

    assert (action.status, action.moved_count) == ("RUNNING", 0)
    assert action.error == "The storage of PDF files does not answer, so nothing was expired: no route"
    assert PdfJob.objects.get().status == "succeeded"


def test_cutting_jobs_are_retried_by_filter_and_permanent_errors_are_skipped(make_person, floor) -> None:
    passing = failed_cutting_job("S-1")
    failed_cutting_job("S-2", Code.XML_INVALID)
    failed_cutting_job("S-3", retry_count=99)
    client = make_person()

    page = client.get(f"{CUTTING}all/retry/?status=FAILED").context["sentences"]
    action = worked(asked(client, f"{CUTTING}all/retry/?status=FAILED"))

    assert page[0] == "Retry: 1 matches (Failed: 1)."
    assert page[2:] == [
        "Will not change: 1 (Failed: Retry limit reached).",
        "Will not change: 1 (Failed: Solution XML invalid).",
    ]
    assert action.skipped == [["FAILED", "E_RETRY_LIMIT_REACHED", 1], ["FAILED", "E_XML_INVALID", 1]]
    passing.refresh_from_db()
    assert passing.status == "NEW"
    retried = Event.objects.of(passing).get(event_type="JOB_RETRY_SCHEDULED")
    assert (retried.actor, retried.message) == ("operator:ayse", f"fixed ({action})")
    page = client.get(f"{PAGES}{action.pk}/change/").content.decode()
    assert (
        "Scheduled for retry: 1 of 3; not changed: 1 (Failed: Retry limit reached); "
        "not changed: 1 (Failed: Solution XML invalid)." in page
    )


def test_a_job_in_progress_is_skipped_in_preview_and_report(make_person, floor) -> None:
    free, busy = make_cutting_job(order_id="S-1"), make_cutting_job(order_id="S-2")
    Job.objects.filter(pk=busy.pk).claim()
    client, both = make_person(), [str(free.pk), str(busy.pk)]

    asking = client.post(CUTTING, {"action": "cancel", "_selected_action": both}).context["sentences"]
    done = client.post(f"{CUTTING}act/cancel/", {"ids": ",".join(both), "reason": "x"}, follow=True)

    assert asking[0] == "Cancel: 1 of 2 selected."
    assert asking[-1] == "Will not change: 1 (New: being processed)."
    assert said(done) == ["Cancelled 1 of 2; not changed: 1 (New: being processed)."]


@pytest.mark.parametrize("verb", ["approve", "retry", "cancel"])
def test_decisions_on_several_jobs_need_a_reason_too(make_person, floor, verb: str) -> None:
    jobs = [make_cutting_job(order_id="S-1"), make_cutting_job(order_id="S-2")]
    ids = ",".join(str(job.pk) for job in jobs)

    answer = make_person().post(f"{CUTTING}act/{verb}/", {"ids": ids, "reason": " "})

    assert answer.context["form"].errors == {"reason": ["This field is required."]}
    assert set(Job.objects.values_list("status", flat=True)) == {"NEW"}


def test_the_export_of_failed_pdf_jobs(make_person, make_job) -> None:
    job = make_job("failed", owner=some_user("=cmd"))
    make_job("succeeded")
    client = make_person(role="viewer")

    (row,) = downloaded(client, f"{PDF}dead-letters/?template=invoice")

    assert (row["id"], row["owner"], row["errorCode"]) == (str(job.pk), "'=cmd", "TEMPLATE_ERROR")
    assert downloaded(client, f"{PDF}dead-letters/?template=offer") == []
    assert f"{PDF}dead-letters/?template=offer" in client.get(f"{PDF}?template=offer").content.decode()


def test_the_export_of_failed_cutting_jobs(make_person, floor) -> None:
    job = failed_cutting_job("S-1")
    make_cutting_job(order_id="S-2")
    client = make_person(role="viewer")

    (row,) = downloaded(client, f"{CUTTING}dead-letters/?mode=A")

    assert (row["id"], row["orderId"], row["errorMessage"]) == (str(job.pk), "S-1", "'=no")
    assert downloaded(client, f"{CUTTING}dead-letters/?code=E_XML_INVALID") == []


def test_jobs_of_all_owners_have_bulk_actions_that_every_operator_sees(make_person, make_job) -> None:
    make_job("failed")
    action = asked(make_person(), f"{PDF}all/retry/?status=failed")

    colleague = make_person("can")

    assert colleague.get(f"{PAGES}{action.pk}/change/").status_code == 200
    colleague.post(f"{PAGES}{action.pk}/cancel/", {"reason": "a mistake"})
    action.refresh_from_db()
    assert action.status == "CANCELLED"
