"""The statements of a job: how many there are, as the caller waits for each, and what they store."""

from datetime import timedelta

import pytest
from django.db import DataError, connection, transaction
from django.test.utils import CaptureQueriesContext

from kilit.lock.audit import acting_as
from kilit.lock.inserts import insert_or_find
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from pdfjobs import work
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import PDF, body, new_job, some_user

pytestmark = pytest.mark.django_db


def test_a_job_costs_a_worker_few_statements(monkeypatch) -> None:
    monkeypatch.setattr(work, "render_job", lambda _: PDF)
    monkeypatch.setattr(work.doorbells, "ring_now", lambda _: True)
    for number in range(2):
        new_job(number=number)

    with CaptureQueriesContext(connection) as asked:
        work.run_due_jobs()

    assert PdfJob.objects.filter(status="succeeded").count() == 2
    sent = [query["sql"] for query in asked if "SAVEPOINT" not in query["sql"]]
    # Claim, trace, success and timing of each; whether others wait, once; a claim that finds nothing.
    assert len(sent) == 4 + 4 + 2, sent


def test_a_request_and_a_worker_are_named_in_the_events(monkeypatch) -> None:
    monkeypatch.setattr(work, "render_job", lambda _: PDF)
    with acting_as("key:shop", reason="the customer asked"):
        job, _ = enqueue(some_user(), parse_job_request(body()))

    work.run_due_jobs()

    events = [(event.actor, event.message, event.details.get("verb")) for event in Event.objects.of(job)]
    assert events == [
        ("key:shop", "the customer asked", None),
        ("worker:pdf", "", "claim"),
        ("worker:pdf", "", "succeed"),
    ]


def test_the_verb_is_for_one_statement_only() -> None:
    job = new_job()
    (claimed,) = PdfJob.objects.claim()

    PdfJob.objects.filter(pk=job.pk).update(document_number="N-2")

    assert [event.details.get("verb") for event in Event.objects.of(claimed)] == [None, "claim"]


def test_a_new_job_has_all_that_was_given() -> None:
    new = PdfJob(
        owner=some_user(),
        job_key="k",
        template_name="invoice",
        document_number="N-1",
        recipient="Ege Mobilya",
        payload={"rows": [1.5, "ü", None]},
        timeout=timedelta(seconds=7),
        priority=Priority.LOW,
    )

    assert insert_or_find(new, PdfJob.objects.none()) == (new, True)

    stored, names = PdfJob.objects.get(), [field.name for field in PdfJob._meta.concrete_fields]
    assert {name: getattr(stored, name) for name in names} == {name: getattr(new, name) for name in names}


def test_a_text_that_is_too_long_is_refused_and_not_cut() -> None:
    with pytest.raises(DataError, match="too long"), transaction.atomic():
        insert_or_find(PdfJob(owner=some_user(), job_key="k" * 65, template_name="invoice"), PdfJob.objects.all())


def test_a_taken_key_inserts_nothing() -> None:
    job = new_job()

    same = PdfJob(owner=job.owner, job_key=job.job_key, template_name="invoice")
    assert insert_or_find(same, PdfJob.objects.filter(job_key=job.job_key)) == (job, False)
    assert PdfJob.objects.get() == job


def test_a_worker_rings_once_if_other_jobs_wait(monkeypatch) -> None:
    rings: list[str] = []
    monkeypatch.setattr(work, "render_job", lambda _: PDF)
    monkeypatch.setattr(work.doorbells, "ring_now", rings.append)
    new_job()
    work.run_due_jobs()
    assert rings == []
    for number in range(3):
        new_job(number=number + 1)

    work.run_due_jobs()

    assert rings == [work.BELL]
