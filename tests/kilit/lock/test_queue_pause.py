"""A paused queue: no claim that starts after the pause takes a job, and the pause leaves its events."""

import threading

import pytest
from django.db import IntegrityError, connection, transaction

from kilit.lock.audit import acting_as
from kilit.lock.models import Activity, Event, QueuePause
from kilit.workers.doorbells import doorbells
from orchestrator.models import Job
from orchestrator.states import JOBS
from pdfjobs import work
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS
from tests.support.cutting_jobs import make_job
from tests.support.waiting import PATIENCE

JOBS_MADE = 300
CLAIMED_BEFORE = 5  # by one of the threads


def make_pdf_jobs(user, count: int = 1) -> None:
    PdfJob.objects.bulk_create(PdfJob(owner=user, job_key=f"{n}", template_name="invoice") for n in range(count))


@pytest.mark.django_db
def test_a_pause_says_who_and_why_and_leaves_two_events() -> None:
    with acting_as("operator:ayse"):
        assert QueuePause.objects.pause(PDF_JOBS, reason="New paper")
    with acting_as("operator:ali"):
        assert not QueuePause.objects.pause(PDF_JOBS, reason="Mine")
        pause = QueuePause.objects.get()
        assert QueuePause.objects.resume(PDF_JOBS)
        assert not QueuePause.objects.resume(PDF_JOBS)

    assert (pause.queue, pause.paused_by, pause.reason) == ("pdf", "operator:ayse", "New paper")
    assert list(Event.objects.order_by("id").values_list("queue", "object_id", "event_type", "actor", "message")) == [
        ("pdf", pause.pk, "QUEUE_PAUSED", "operator:ayse", "New paper"),
        ("pdf", pause.pk, "QUEUE_RESUMED", "operator:ali", ""),
    ]
    assert list(Activity.objects.order_by("id").values_list("kind", "person", "queue", "verb", "message")) == [
        ("pause", "ayse", "pdf", "pause", "New paper"),
        ("pause", "ali", "pdf", "resume", ""),
    ]


@pytest.mark.django_db(transaction=True)
def test_raw_sql_is_recorded_too_and_changes_no_pause(sql) -> None:
    sql("INSERT INTO lock_queuepause (id, queue, reason) VALUES (gen_random_uuid(), 'pdf', 'by hand')")

    for statement in ("UPDATE lock_queuepause SET reason = 'else'", "TRUNCATE lock_queuepause"):
        with pytest.raises(IntegrityError, match="pauses cannot be"), transaction.atomic():
            sql(statement)
    with pytest.raises(IntegrityError, match="queue_pause_has_reason"), transaction.atomic():
        sql("INSERT INTO lock_queuepause (id, queue, reason) VALUES (gen_random_uuid(), 'other', '')")
    sql("DELETE FROM lock_queuepause")

    (role,) = sql("SELECT session_user")[0]
    assert [(event.event_type, event.actor) for event in Event.objects.order_by("id")] == [
        ("QUEUE_PAUSED", role),
        ("QUEUE_RESUMED", role),
    ]


@pytest.mark.django_db
def test_a_paused_queue_takes_jobs_and_hands_none_out(admin_user) -> None:
    QueuePause.objects.pause(PDF_JOBS, reason="New paper")
    make_pdf_jobs(admin_user)
    make_job()

    assert PdfJob.objects.claim() == []
    assert not doorbells[work.BELL].is_due(), "the supervisor would ring every second"
    assert Job.objects.claim() is not None, "the other queue runs"

    QueuePause.objects.resume(PDF_JOBS)
    assert len(PdfJob.objects.claim()) == 1


@pytest.mark.django_db(transaction=True)
def test_the_claim_itself_reads_the_pause(admin_user, in_threads) -> None:
    """A look before the claim would miss a pause that is committed in between."""
    make_pdf_jobs(admin_user, 2)
    make_job()

    with transaction.atomic():
        QueuePause.objects.pause(PDF_JOBS, reason="New paper")
        QueuePause.objects.pause(JOBS, reason="Stocktaking")
        before = in_threads(lambda _: (PdfJob.objects.claim(), Job.objects.filter(pk=None).claim()), count=1)
    after = in_threads(lambda _: (PdfJob.objects.claim(), Job.objects.claim()), count=1)

    assert len(before[0][0]) == 1, "not committed yet, and no one waits for it"
    assert after == [([], None)]


@pytest.mark.django_db(transaction=True)
def test_no_claim_that_starts_after_the_pause_takes_a_job(admin_user, in_threads) -> None:
    make_pdf_jobs(admin_user, JOBS_MADE)
    start, are_claiming, is_paused = threading.Barrier(5), threading.Event(), threading.Event()

    def claim_or_pause(number: int) -> list[bool]:
        """Return for each job whether its claim started after the pause was committed."""
        connection.ensure_connection()
        start.wait(timeout=PATIENCE)
        late: list[bool] = []
        while number:
            started_late = is_paused.is_set()
            if not PdfJob.objects.claim():
                return late
            late.append(started_late)
            if len(late) == CLAIMED_BEFORE:
                are_claiming.set()
        assert are_claiming.wait(timeout=PATIENCE)
        QueuePause.objects.pause(PDF_JOBS, reason="New paper")
        is_paused.set()
        return late

    claims = [late for each in in_threads(claim_or_pause, count=5) for late in each]

    assert CLAIMED_BEFORE <= len(claims) < JOBS_MADE
    assert True not in claims
    assert PdfJob.objects.due().count() == JOBS_MADE - len(claims)
