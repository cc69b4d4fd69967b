"""Callbacks: everyone who named an address for a document gets its result there, once."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.urls import reverse

from kilit.lock.models import Event
from outbox import log_reader
from outbox.models import OutboxMessage
from pdfjobs import cleanup
from pdfjobs.enqueue import request_callback
from pdfjobs.models import PdfCallback, PdfJob
from pdfjobs.models.callback import PdfCallbackQuerySet
from pdfjobs.states import MAX_RETRIES, ErrorCode
from tests.support.outbox import make_endpoint
from tests.support.pdf_jobs import body, bring, new_job
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker_lives")]

RESULTS = "https://shop.example/results?order=7"
KINDS = ["pdf.succeeded", "pdf.failed", "pdf.expired"]


@pytest.fixture(autouse=True)
def _endpoint(db: None) -> None:
    """The caller's endpoint, which listens to nothing."""
    make_endpoint(url="https://shop.example/hook", kinds=[])


def request(api: Any, url: Any = RESULTS) -> Any:
    return api.post(body(callbackUrl=url))


def sent() -> list[tuple[str, str]]:
    """Return the kind and the address of every message, after the log was read."""
    log_reader.read_log()
    messages = OutboxMessage.objects.order_by("event_id", "url").select_related("endpoint")
    return [(message.kind, message.address) for message in messages]


def fail_once(job: PdfJob, code: str = ErrorCode.NAVIGATION_TIMEOUT) -> None:
    PdfJob.objects.filter(pk=job.pk).claim()
    PdfJob.objects.filter(pk=job.pk).fail(code=code, detail="Ayşe Yılmaz, 0555 123 45 67")


def test_what_is_sent(api) -> None:
    request(api)
    job = bring(PdfJob.objects.get(), "succeeded")
    sent()

    (message,) = OutboxMessage.objects.all()
    base = "http://127.0.0.1:8000"
    assert json.loads(message.body)["data"] == {
        "job_id": job.job_id,
        "status": "succeeded",
        "template_name": "invoice",
        "error_code": None,
        "error_message": None,
        "created_at": api.get(job.pk).json()["created_at"],
        "finished_at": api.get(job.pk).json()["finished_at"],
        "job_url": base + reverse("pdf-job", args=[job.pk]),
        "download_url": base + reverse("pdf-download", args=[job.pk]),
        "console_url": base + reverse("admin:pdfjobs_pdfjob_change", args=[job.pk]),
    }


def test_nothing_of_the_document_is_sent(api) -> None:
    request(api)
    job = PdfJob.objects.get()
    fail_once(job, ErrorCode.PAGES_MISSING)
    sent()

    (message,) = OutboxMessage.objects.all()
    data = json.loads(message.body)["data"]
    assert data["error_code"] == "PAGES_MISSING"
    assert "the document does not have the requested pages" in data["error_message"]
    for private in (job.document_number, job.recipient, "Ayşe", "0555"):
        assert private
        assert private not in message.body


@pytest.mark.parametrize("read_between", ["read between", ""])
def test_a_failure_that_is_retried_automatically_is_not_reported(api, read_between: str) -> None:
    make_endpoint(url="https://shop.example/all", kinds=KINDS)
    request(api)
    job = PdfJob.objects.get()

    for _ in range(MAX_RETRIES):
        fail_once(job)
    if read_between:
        assert sent() == []
    fail_once(job)

    assert sorted(sent()) == [("pdf.failed", "https://shop.example/all"), ("pdf.failed", RESULTS)]


def test_an_operators_retry_reports_its_own_result_and_taking_it_back_reports_nothing(api) -> None:
    request(api)
    job = bring(PdfJob.objects.get(), "failed")
    PdfJob.objects.filter(pk=job.pk).retry_selected()
    changes = {"finished_at": Now(), "error_code": ErrorCode.TEMPLATE_ERROR}
    PdfJob.objects.filter(pk=job.pk).move("undo_retry", **changes)
    assert sent() == [("pdf.failed", RESULTS)]

    PdfJob.objects.filter(pk=job.pk).retry_selected()
    bring(job, "succeeded")

    assert sent() == [("pdf.failed", RESULTS), ("pdf.succeeded", RESULTS)]


def test_everyone_who_asks_for_a_waiting_document_is_called_once(api) -> None:
    other = "https://shop.example/other"
    for url in (RESULTS, other, other, None):
        request(api, url)

    bring(PdfJob.objects.get(), "succeeded")

    assert sent() == [("pdf.succeeded", other), ("pdf.succeeded", RESULTS)]


@pytest.mark.parametrize("read_between", ["read between", ""])
def test_who_asks_for_a_finished_document_is_called_and_no_one_else_again(api, read_between: str) -> None:
    make_endpoint(url="https://shop.example/all", kinds=KINDS)
    late = "https://shop.example/late"
    request(api)
    bring(PdfJob.objects.get(), "succeeded")
    if read_between:
        sent()

    assert request(api, late).status_code == 200

    assert sorted(url for _, url in sent()) == ["https://shop.example/all", late, RESULTS]


def test_each_request_for_a_finished_document_is_called(api) -> None:
    """Many callers share an address; each waits for a call of its own."""
    request(api)
    bring(PdfJob.objects.get(), "succeeded")

    request(api)
    request(api)

    assert sent() == [("pdf.succeeded", RESULTS)] * 3


def test_a_job_that_ends_without_a_result_is_reported(api) -> None:
    request(api)
    api.delete(PdfJob.objects.get().pk)

    assert sent() == [("pdf.expired", RESULTS)]


def test_the_end_of_a_documents_life_is_for_endpoints_only(api) -> None:
    everything = make_endpoint(url="https://shop.example/all", kinds=["pdf.expired"])
    request(api)
    job = bring(PdfJob.objects.get(), "succeeded")
    cleanup.expire(PdfJob.objects.filter(pk=job.pk))

    assert sent() == [("pdf.succeeded", RESULTS), ("pdf.expired", everything.url)]


def test_a_job_that_failed_before_its_address_was_stored_is_reported(api) -> None:
    job = bring(new_job(api.user), "failed")

    request_callback(job, RESULTS)

    assert sent() == [("pdf.failed", RESULTS)]


@pytest.mark.parametrize("url", ["https://evil.example/", "https://shop.example.evil.example/", "http://127.0.0.1/"])
def test_a_host_that_is_no_endpoints_is_refused_with_those_that_are(api, url: str) -> None:
    make_endpoint(url="https://erp.example/x", kinds=[])
    make_endpoint(url="https://off.example/x", kinds=[], is_on=False, off_reason="OPERATOR", off_at=Now())

    answer = request(api, url)

    (error,) = answer.json()["error"]["fields"]
    assert (answer.status_code, error["field"]) == (400, "callbackUrl")
    assert "https://erp.example, https://shop.example." in error["message"]
    assert "off.example" not in error["message"]
    assert not PdfJob.objects.exists()


@pytest.mark.parametrize(
    ("url", "signer"),
    [
        ("https://shop.example/results", "https://shop.example/results"),
        ("https://shop.example/results?order=7", "https://shop.example/results"),
        ("https://shop.example/elsewhere", "https://shop.example/hook"),  # the oldest
        ("https://shop.example:443/elsewhere", "https://shop.example/hook"),
        ("https://shop.example:8443/elsewhere", "https://shop.example:8443/hook"),
        ("http://localhost:3000/done", "http://127.0.0.1:3000/hook"),
        ("http://[::1]:3000/done", "http://[::1]:3000/hook"),
    ],
)
def test_a_callback_is_signed_with_the_secret_of_its_own_address(api, url: str, signer: str) -> None:
    for other in (
        "https://shop.example/results",
        "https://shop.example:8443/hook",
        "http://127.0.0.1:34995/",
        "http://127.0.0.1:3000/hook",
        "http://[::1]:3000/hook",
    ):
        make_endpoint(url=other, kinds=[])
    assert request(api, url).status_code == 201

    bring(PdfJob.objects.get(), "succeeded")

    assert sent() == [("pdf.succeeded", url)]
    assert OutboxMessage.objects.get().endpoint.url == signer


@pytest.mark.parametrize("url", ["https://shop.example:8443/", "http://shop.example/"])
def test_another_port_of_an_endpoints_host_is_refused(api, url: str) -> None:
    answer = request(api, url)

    (error,) = answer.json()["error"]["fields"]
    assert (answer.status_code, error["field"]) == (400, "callbackUrl")
    assert "Expected one of these beginnings: https://shop.example." in error["message"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://shop.example/",
        "https://",
        "shop.example",
        "https://me:secret@shop.example/",
        "https://shop.example\\@x/",
        7,
        "",
    ],
)
def test_what_is_no_address_is_refused(api, url: Any) -> None:
    answer = request(api, url)

    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, "callbackUrl")
    assert not PdfJob.objects.exists()


def test_a_job_has_a_few_addresses(api) -> None:
    answers = [request(api, f"https://shop.example/{number}") for number in range(11)]

    assert [answer.status_code for answer in answers] == [201] + [200] * 9 + [400]
    assert PdfCallback.objects.count() == 10
    assert request(api, "https://shop.example/0").status_code == 200


def test_an_address_makes_no_other_document(api) -> None:
    assert request(api).json()["job_id"] == api.post().json()["job_id"]


def test_a_caller_without_its_endpoint_is_not_called(api) -> None:
    request(api)
    User.objects.filter(pk=api.user.pk).update(is_active=False)
    bring(PdfJob.objects.get(), "succeeded")

    assert sent() == []


def test_addresses_are_deleted_a_week_after_the_document(api, settings) -> None:
    request(api)
    cleanup.clean()
    assert PdfCallback.objects.exists()

    PdfCallback.objects.update(created_at=Now() - settings.PDF_TTL - timedelta(days=8))
    cleanup.clean()

    assert not PdfCallback.objects.exists()


def test_the_timeline_shows_who_asked_late_and_not_the_address(api) -> None:
    job = bring(new_job(api.user), "succeeded")
    request_callback(job, RESULTS)

    event = Event.objects.of(job).last()
    assert event
    assert event.event_type == "CALLBACK_REQUESTED"
    assert "shop.example" not in str(event.__dict__)


@pytest.mark.django_db(transaction=True)
def test_a_request_that_meets_the_end_of_the_job_is_called(api, make_job, in_threads, monkeypatch) -> None:
    """The job ends, and its end is read, after the request has looked at it and before it stores the address."""
    job = make_job("running", owner=api.user)
    has_looked, is_read = threading.Event(), threading.Event()
    create = PdfCallbackQuerySet.create

    def create_late(*args: Any, **columns: Any) -> PdfCallback:
        has_looked.set()
        wait_until(lambda: is_read.is_set() or has_waiter(), every=0.01)
        return create(*args, **columns)

    def ask_or_finish(number: int) -> None:
        if number:
            assert has_looked.wait(timeout=PATIENCE)
            job.succeed(artifact_key=f"pdfs/{job.pk}/x.pdf", size=1, digest="d")
            log_reader.read_log()
            is_read.set()
        else:
            request_callback(job, RESULTS)

    monkeypatch.setattr(PdfCallbackQuerySet, "create", create_late)
    in_threads(ask_or_finish, count=2)

    assert sent() == [("pdf.succeeded", RESULTS)]
