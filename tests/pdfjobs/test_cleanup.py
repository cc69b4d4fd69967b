"""The cleanup expires old jobs with their files, survives crashes in between, and removes orphaned files."""

import os
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.workers import sweeps
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, files

pytestmark = pytest.mark.django_db

OLD = timedelta(hours=25)


def age(job: PdfJob, by: timedelta = OLD) -> PdfJob:
    PdfJob.objects.filter(pk=job.pk, finished_at__isnull=False).update(finished_at=Now() - by)
    PdfJob.objects.filter(pk=job.pk).update(queued_at=Now() - by)
    return job


def leave(folder: Path, key: str, *, hours: float) -> Path:
    """Store an orphaned file of this age."""
    path = folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PDF)
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path


def test_old_ones_end_and_young_ones_stay(make_job, artifact_folder) -> None:
    old = [age(make_job(status)) for status in ("queued", "succeeded", "failed")]
    young = [age(make_job(status), timedelta(hours=23)) for status in ("queued", "succeeded", "failed")]
    running = age(make_job("running"))

    assert sweeps.run("pdf_cleanup") == "Expired 3, removed 0 orphaned files."

    assert {job.status for job in PdfJob.objects.filter(pk__in=[job.pk for job in old])} == {"expired"}
    assert [PdfJob.objects.get(pk=job.pk).status for job in young] == ["queued", "succeeded", "failed"]
    assert PdfJob.objects.get(pk=running.pk).status == "running"
    assert files(artifact_folder) == [young[1].artifact_key]
    assert {Event.objects.of(job).last().actor for job in old} == {"sweep:pdf_cleanup"}


def test_what_a_failure_quoted_is_deleted_with_the_rest_also_from_the_events(make_job) -> None:
    failed, other = age(make_job("failed")), make_job("failed")
    assert failed.error_detail

    cleanup.clean()

    failed.refresh_from_db()
    kept = [[event.details.get("error_detail") or "" for event in Event.objects.of(job)] for job in (failed, other)]
    assert (failed.status, failed.error_detail, kept[0]) == ("expired", "", [""] * len(kept[0]))
    assert kept[1][-1] == other.error_detail
    assert failed.error_code in [event.details["error_code"] for event in Event.objects.of(failed)]


def test_the_cleanup_runs_every_hour() -> None:
    assert sweeps.sweeps["pdf_cleanup"].every == timedelta(hours=1)


def test_a_crash_between_file_and_row_is_healed_by_the_next_run(make_job, artifact_folder, monkeypatch) -> None:
    job = age(make_job("succeeded"))
    with monkeypatch.context() as patch:
        patch.setattr("pdfjobs.models.job.PdfJobQuerySet.expire", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cleanup.clean()
    assert files(artifact_folder) == []
    assert PdfJob.objects.get(pk=job.pk).status == "succeeded"

    cleanup.clean()

    assert PdfJob.objects.get(pk=job.pk).status == "expired"


def test_a_job_that_finished_since_we_looked_keeps_its_file(make_job, artifact_folder, monkeypatch) -> None:
    """An operator expires a queued job while a worker finishes it: the file is not orphaned, the job stays."""
    job = make_job("running")
    kept = artifacts.save(artifacts.new_key(job.pk, job.started_at), PDF)
    seen = PdfJob.objects.filter(pk=job.pk)
    delete = artifacts.delete

    def finish_meanwhile(key: str) -> None:
        job.succeed(artifact_key=kept.artifact_key, size=kept.size, digest=kept.digest)
        delete(key)

    other = make_job("succeeded")
    monkeypatch.setattr("pdfjobs.storage.artifacts.delete", finish_meanwhile)
    ended = cleanup.expire(PdfJob.objects.filter(pk__in=[job.pk, other.pk]))

    assert ended == {other.pk}
    assert seen.get().status == "succeeded"
    assert files(artifact_folder) == [kept.artifact_key]


def test_a_job_that_an_operator_has_just_retried_is_not_old_any_more(make_job, monkeypatch) -> None:
    old, other = age(make_job("failed")), age(make_job("succeeded"))
    delete = artifacts.delete

    def retry_meanwhile(key: str) -> None:
        assert PdfJob.objects.filter(pk=old.pk).retry_selected() == {old.pk}
        delete(key)

    monkeypatch.setattr("pdfjobs.storage.artifacts.delete", retry_meanwhile)

    assert cleanup.clean().expired == 1

    assert [PdfJob.objects.get(pk=job.pk).status for job in (old, other)] == ["queued", "expired"]


def test_one_file_that_cannot_be_deleted_does_not_keep_the_others(make_job, artifact_folder, monkeypatch) -> None:
    jobs = [age(make_job("succeeded"), OLD + timedelta(hours=hours)) for hours in (3, 2, 1)]
    leave(artifact_folder, f"pdfs/{uuid4()}/a.pdf", hours=2)
    (artifact_folder / jobs[0].artifact_key).unlink()
    (artifact_folder / jobs[0].artifact_key / "inside").mkdir(parents=True)  # now it cannot be deleted
    monkeypatch.setattr(cleanup, "BATCH", 1)

    result = cleanup.clean().format()

    assert result == "Expired 2, removed 1 orphaned file; 1 file could not be deleted."
    assert [PdfJob.objects.get(pk=job.pk).status for job in jobs] == ["succeeded", "expired", "expired"]


def test_looking_for_orphans_ends_in_time_where_there_are_none(make_job, artifact_folder, monkeypatch) -> None:
    for _ in range(3):
        os.utime(artifact_folder / make_job("succeeded").artifact_key, (0, 0))
    monkeypatch.setattr(cleanup, "BATCH", 1)
    looked, keys_in_use = [], cleanup.keys_in_use

    def look(keys: list[str]) -> set[str]:
        looked.append(keys)
        monkeypatch.setattr(cleanup.CleanupRun, "is_over", lambda _: True)
        return keys_in_use(keys)

    monkeypatch.setattr(cleanup, "keys_in_use", look)

    cleanup.clean()

    assert len(looked) == 1


def test_orphaned_files_are_removed_once_they_are_old(make_job, artifact_folder) -> None:
    job = make_job("succeeded")
    os.utime(artifact_folder / job.artifact_key, (0, 0))
    swept = make_job("failed")
    orphans = [
        leave(artifact_folder, f"pdfs/{uuid4()}/a.pdf", hours=2),
        leave(artifact_folder, f"pdfs/{swept.pk}/a.pdf", hours=2),
        leave(artifact_folder, f"pdfs/{job.pk}/earlier.pdf", hours=2),
        leave(artifact_folder, f"pdfs/{uuid4()}/b.pdf.1234.part", hours=2),
        leave(artifact_folder, "pdfs/nonsense.pdf", hours=2),
    ]
    in_the_making = leave(artifact_folder, f"pdfs/{uuid4()}/c.pdf", hours=0.5)

    assert cleanup.clean().format() == "Expired 0, removed 5 orphaned files."

    assert not any(orphan.exists() for orphan in orphans)
    assert in_the_making.exists()
    assert artifacts.exists(job.artifact_key)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(make_job, artifact_folder, capsys) -> None:
    job = age(make_job("succeeded"))
    leave(artifact_folder, f"pdfs/{uuid4()}/a.pdf", hours=2)

    call_command("pdf_cleanup", dry_run=True)

    assert capsys.readouterr().out == "Would expire 1, remove 1 orphaned file.\n"
    assert PdfJob.objects.get(pk=job.pk).status == "succeeded"
    assert len(files(artifact_folder)) == 2


def test_the_command_takes_another_time_to_live(make_job, capsys) -> None:
    job = age(make_job("succeeded"), timedelta(hours=3))

    call_command("pdf_cleanup", ttl_hours=2)

    assert capsys.readouterr().out == "Expired 1, removed 0 orphaned files.\n"
    assert Event.objects.of(job).last().actor == "command:pdf_cleanup"


def test_a_long_cleanup_stops_in_time_and_goes_on_at_its_next_run(make_job, monkeypatch) -> None:
    for _ in range(3):
        age(make_job("failed"))
    monkeypatch.setattr(cleanup, "BATCH", 2)
    monkeypatch.setattr(cleanup, "TIME_LIMIT", -1)

    assert cleanup.clean().format() == "Expired 2, removed 0 orphaned files; the next run continues."
    assert cleanup.clean().expired == 1
