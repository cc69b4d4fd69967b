"""The reaper: jobs of workers that died or stopped reporting."""

from copy import copy
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from kilit.lock.guard import MoveRefused
from kilit.workers import sweeps
from pdfjobs import work
from pdfjobs.models import PdfJob
from pdfjobs.states import ErrorCode
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, files, new_job

pytestmark = pytest.mark.django_db


def result_of(job: PdfJob) -> tuple[str, str, int]:
    job.refresh_from_db()
    return job.status, job.error_code, job.retry_count


def lapse(job: PdfJob) -> None:
    PdfJob.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))


def test_the_reaper_retries_what_a_dead_worker_held_at_most_twice() -> None:
    job = new_job()
    for _ in range(3):
        PdfJob.objects.claim()
        lapse(job)
        sweeps.run("pdf_reap")

    assert result_of(job) == ("failed", "WORKER_LOST", 2)
    assert PdfJob.objects.claim() == []


def test_the_reaper_ignores_a_worker_within_its_lease(capsys) -> None:
    new_job()
    PdfJob.objects.claim()

    assert sweeps.run("pdf_reap") == "Reaped 0, of which 0 are retried."
    call_command("pdf_reap", dry_run=True)
    assert capsys.readouterr().out == "Would reap 0.\n"


def test_the_command_reaps_and_looks(capsys) -> None:
    job = new_job()
    PdfJob.objects.claim()
    lapse(job)

    call_command("pdf_reap", dry_run=True)
    call_command("pdf_reap")

    assert capsys.readouterr().out == "Would reap 1.\nReaped 1, of which 1 are retried.\n"


def claim_twice() -> list[PdfJob]:
    """Return a job as the worker that was swept has it, and as the next one."""
    new_job()
    (swept,) = PdfJob.objects.claim()
    lapse(swept)
    sweeps.run("pdf_reap")
    return [swept, *PdfJob.objects.claim()]


def test_a_swept_worker_cannot_finish_and_takes_its_file_back(artifact_folder) -> None:
    """Only the holder of the claim may finish the job."""
    swept, holder = claim_twice()

    with pytest.raises(MoveRefused, match="under another claim"):
        copy(swept).succeed(artifact_key="x", size=1, digest="d")
    work.finish(swept, artifacts.save(artifacts.new_key(swept.pk, swept.started_at), PDF))

    assert files(artifact_folder) == []
    assert result_of(holder)[0] == "running"


def test_a_swept_worker_cannot_fail_the_next_ones_claim() -> None:
    swept, holder = claim_twice()

    work.fail(swept, ErrorCode.UNKNOWN, "late")

    assert result_of(holder) == ("running", "", 1)
