"""What becomes of jobs when their worker dies or is stopped."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from kilit.workers.models import Heartbeat
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import body
from tests.support.pdf_workers import browsers_in, ended, long_body, moves, real_workers, unfinished
from tests.support.waiting import wait_for_the_end, wait_until
from tests.support.workers import Workers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("audited")]


@pytest.fixture
def workers(transactional_db: None, tmp_path: Path) -> Iterator[Workers]:
    """Start real workers whose files are where this test looks for them."""
    with real_workers(tmp_path) as started:
        yield started


@pytest.mark.nightly  # by day, tests/processes/test_kills.py
def test_a_worker_killed_while_it_renders_loses_its_claim_and_the_job_is_made(workers: Workers, api, tmp_path) -> None:
    """Kill -9 leaves a row that says running; the reaper brings it back, and no browser stays behind."""
    with unfinished():  # however late we come, it is at work
        job_id = api.post(long_body(400)).json()["job_id"]
        wait_until(lambda: PdfJob.objects.get(pk=job_id).status == "running")
        orphans = wait_until(lambda: browsers_in(tmp_path))

        workers.kill(*wait_until(lambda: workers.titled("processing")))
        wait_for_the_end(*orphans)
    PdfJob.objects.filter(pk=job_id, status="running").update(lease_until=Now() - timedelta(seconds=1))
    neighbour = api.post().json()["job_id"]

    wait_until(ended(job_id, neighbour))
    assert moves(PdfJob.objects.get(pk=job_id)) == [
        "queued",
        "running",
        "failed WORKER_LOST",
        "queued",
        "running",
        "succeeded",
    ]
    assert PdfJob.objects.get(pk=neighbour).status == "succeeded"


@pytest.mark.nightly  # by day, a worker is killed while it renders
def test_worker_down_and_back(workers: Workers, api) -> None:
    """Without workers requests are rejected or degraded; it resumes when they are back."""
    assert api.post().status_code == 201
    workers.stop()
    assert not Heartbeat.objects.exists()

    strict, degrade = api.post(), api.post(body(options={"fail_safe": "degrade"}))
    assert (strict.status_code, strict.json()["error"]["code"]) == (503, "PDF_RENDER_UNAVAILABLE")
    assert degrade.headers["X-Pdf-Fallback"] == "html"
    stored = PdfJob.objects.count()

    workers.start()

    assert stored == 1
    again = api.post(body("offer"))
    assert again.status_code == 201
    wait_until(ended(again.json()["job_id"]))
    assert PdfJob.objects.get(pk=again.json()["job_id"]).status == "succeeded"
