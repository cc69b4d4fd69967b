"""PDF jobs in the console."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from kilit.lock.models import Event
from pdfjobs.file_response import file_name
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS, ErrorCode
from pdfjobs.storage import artifacts
from tests.support.bulk_actions import said
from tests.support.guarded_columns import write_unguarded
from tests.support.pdf_jobs import PDF, bring, files, new_job, some_user

pytestmark = pytest.mark.django_db

LIST = "/admin/pdfjobs/pdfjob/"


def rows(answer: Any) -> set[Any]:
    return {job.pk for job in answer.context["cl"].result_list}


def confirm(client: Any, verb: str, *jobs: Any, reason: str = "mended", **fields: Any) -> Any:
    ids = ",".join(str(getattr(job, "pk", job)) for job in jobs)
    return client.post(f"{LIST}act/{verb}/", {"ids": ids, "reason": reason, **fields}, follow=True)


def offers(answer: Any) -> list[Any]:
    """Return what can be done, without the link to the file."""
    found = [answer.context["primary"], *answer.context["offers"]]
    return [offer for offer in found if offer and "/file/" not in offer.href]


def status(job: PdfJob) -> str:
    return PdfJob.objects.get(pk=job.pk).status


def test_operators_see_the_jobs_of_all_owners(make_person, make_job) -> None:
    jobs = [make_job(owner=some_user("one")), make_job("failed", owner=some_user("two"))]

    answer = make_person(role="viewer").get(LIST)

    assert rows(answer) == {job.pk for job in jobs}
    assert "TEMPLATE_ERROR" in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("status=failed", {"failed", "launch"}),
        ("code=BROWSER_LAUNCH_FAILED", {"launch"}),
        ("code=nonsense", set()),
        ("template=invoice", {"queued", "succeeded", "failed", "launch"}),
        ("template=offer", set()),
        ("since=1", {"queued", "succeeded", "failed", "launch"}),
        ("status=expired", set()),
    ],
)
def test_filters(make_person, make_job, query: str, kept: set[str]) -> None:
    jobs = {name: make_job(name) for name in ("queued", "succeeded", "failed")}
    launch = make_job()
    for _ in range(3):
        mine = PdfJob.objects.filter(pk=launch.pk)
        mine.claim()
        mine.fail(code="BROWSER_LAUNCH_FAILED", detail="no")
    jobs["launch"] = launch

    answer = make_person().get(f"{LIST}?{query}")

    assert rows(answer) == {jobs[name].pk for name in kept}


def test_search_by_id_key_and_owner(make_person, make_job) -> None:
    job, other = make_job(), make_job(owner=some_user("other"))
    client = make_person()

    assert rows(client.get(LIST, {"q": str(job.pk)})) == {job.pk}
    assert rows(client.get(LIST, {"q": job.job_key})) == {job.pk}
    assert rows(client.get(LIST, {"q": "other"})) == {other.pk}
    assert rows(client.get(LIST, {"q": "nonsense"})) == set()


@pytest.mark.parametrize(
    ("state", "offered", "sentence"),
    [
        ("queued", {"Expire"}, "No worker is running."),
        ("running", set(), "then the scheduled task pdf_reap takes it back"),
        ("succeeded", {"Expire"}, "The PDF is kept until"),
        ("failed", {"Retry", "Expire"}, "Fix the template, then retry."),
        ("expired", set(), "The file and the variables are deleted"),
    ],
)
def test_a_page_for_every_state(make_person, make_job, state: str, offered: set[str], sentence: str) -> None:
    job = make_job(state)

    answer = make_person().get(f"{LIST}{job.pk}/change/")
    watched = make_person("can", role="viewer").get(f"{LIST}{job.pk}/change/")

    page = answer.content.decode()
    assert ("JOB_CREATED" in page, f"● {PDF_JOBS.labels[state]}" in page, sentence in page) == (True, True, True)
    assert answer.context["blockers"]
    assert (f"{LIST}{job.pk}/file/" in page) == (state == "succeeded")
    assert ("invoice.html, line 3: broken" in page) == (state == "failed")
    assert {str(offer.title) for offer in offers(answer)} == offered
    assert offers(watched) == []


def test_variables_are_shown_as_text(make_person, make_job) -> None:
    job = make_job()
    PdfJob.objects.filter(pk=job.pk).update(payload={"number": "<script>alert(1)</script>"})

    page = make_person().get(f"{LIST}{job.pk}/change/").content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("template", "number", "name"),
    [
        ("invoice", "FTR-2026-1005", "FTR-2026-1005.pdf"),
        ("invoice", '../A/1 "x"\r\n', "A-1-x.pdf"),
        ("cutting_sheet", "S-9", "S-9-cutting-sheet.pdf"),
        ("labels", "S-9", "S-9-labels.pdf"),
        ("gone", "Ş 7", "Ş-7-gone.pdf"),
        ("invoice", "", "invoice-2026-11-17-0000aa.pdf"),
    ],
)
def test_a_file_is_named_as_people_name_the_document(template, number, name) -> None:
    job = PdfJob(template_name=template, document_number=number, created_at=datetime(2026, 11, 17, tzinfo=UTC))
    job.pk = UUID("00000000-0000-0000-0000-0000000000aa")

    assert file_name(job) == name


def test_the_pdf_is_shown_in_the_page(make_person, make_job) -> None:
    job = make_job("succeeded")
    client = make_person(role="viewer")

    shown, kept = client.get(f"{LIST}{job.pk}/file/"), client.get(f"{LIST}{job.pk}/file/?download")

    assert b"".join(shown.streaming_content) == PDF
    assert shown.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert shown.headers["Content-Disposition"].startswith("inline")
    assert kept.headers["Content-Disposition"].startswith("attachment")
    assert b"".join(kept.streaming_content) == PDF


def test_a_missing_file_is_reported(make_person, make_job, client) -> None:
    lost, queued = make_job("succeeded"), make_job()
    artifacts.delete(lost.artifact_key)
    person = make_person()

    assert person.get(f"{LIST}{lost.pk}/file/").status_code == 410
    assert person.get(f"{LIST}{queued.pk}/file/").status_code == 404
    assert person.get(f"{LIST}nonsense/file/").status_code == 404
    assert client.get(f"{LIST}{lost.pk}/file/").status_code == 302


def test_retry_reports_and_gives_a_fresh_budget(make_person, make_job) -> None:
    failed, done = make_job("failed"), make_job("succeeded")
    write_unguarded(PdfJob.objects.filter(pk=failed.pk), retry_count=2)

    answer = confirm(make_person(), "retry_selected", failed, done)

    failed.refresh_from_db()
    assert said(answer) == ["Retried 1 of 2; not changed: 1 (Ready)."]
    assert (failed.status, failed.error_code, failed.retry_count) == ("queued", "", 0)
    last = Event.objects.of(failed).last()
    assert (last.actor, last.message) == ("operator:ayse", "mended")


def test_expire_deletes_the_files(make_person, make_job, artifact_folder) -> None:
    jobs = [make_job(state) for state in ("queued", "succeeded", "failed", "running")]

    answer = confirm(make_person(), "expire", *jobs)

    assert said(answer) == ["Expired 3 of 4; not changed: 1 (Being rendered)."]
    assert [status(job) for job in jobs] == ["expired", "expired", "expired", "running"]
    assert files(artifact_folder) == []


def test_a_retry_whose_document_was_asked_for_anew_says_so(make_person, make_job) -> None:
    failed = make_job("failed")
    newer = PdfJob(owner=failed.owner, job_key=failed.job_key, template_name="invoice")
    newer.save()

    answer = confirm(make_person(), "retry_selected", failed)

    assert said(answer) == ["Retried 0 of 1; not changed: 1 (Failed: the same document was requested again)."]


@pytest.mark.parametrize(("verb", "number"), [("expire", 1), ("retry_selected", 2)])
def test_what_ends_jobs_or_takes_many_needs_a_reason(make_person, make_job, verb: str, number: int) -> None:
    jobs = [make_job("failed") for _ in range(number)]

    answer = confirm(make_person(), verb, *jobs, reason=" ")

    assert answer.context["form"].errors == {"reason": ["This field is required."]}
    assert {status(job) for job in jobs} == {"failed"}


def test_an_unreachable_storage_is_reported_and_nothing_expires(make_person, make_job, monkeypatch) -> None:
    job = make_job("succeeded")

    def down(_: str) -> None:
        raise artifacts.StorageUnavailable("no route")

    monkeypatch.setattr(artifacts, "delete", down)

    answer = confirm(make_person(), "expire", job)

    assert said(answer) == ["The storage of PDF files does not answer, so nothing was expired: no route"]
    assert status(job) == "succeeded"


def test_pages_that_the_caller_asked_for_are_not_blamed_on_the_template(make_person) -> None:
    asked = new_job(options={"pages": "7-9"})
    job = bring(asked, "failed", code=ErrorCode.PAGES_MISSING, detail="Page range exceeds page count")

    answer = make_person().get(f"{LIST}{job.pk}/change/")

    assert "The document does not have the requested pages" in answer.text
    assert "Fix the template" not in answer.text
    assert answer.context["primary"] is None, "a retry cannot help"
    assert [str(offer.title) for offer in answer.context["offers"]] == ["Expire"]


def test_a_waiting_job_says_how_many_wait_before_it(make_person, make_job, worker_lives) -> None:
    first, second = make_job(), make_job()
    client = make_person()

    assert "Nothing: it is due" in client.get(f"{LIST}{first.pk}/change/").content.decode()
    assert "Jobs of its owner ahead of it: 1." in client.get(f"{LIST}{second.pk}/change/").content.decode()


def test_the_console_warns_about_a_browser_without_its_sandbox(make_person, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert "without its sandbox" in make_person().get(LIST).content.decode()
