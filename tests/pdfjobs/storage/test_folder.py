"""Files are written to a disk completely or not at all, and a disk that is away has lost nothing."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts, folder
from pdfjobs.work import run_due_jobs
from tests.support.pdf_jobs import PDF, bring, files, new_job

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def unmount(artifact_folder: Path, tmp_path: Path) -> Callable[[], None]:
    """Unmount the disk; calling it again mounts it."""

    def toggle() -> None:
        if (tmp_path / "disk").exists():
            artifact_folder.rmdir()
            (tmp_path / "disk").rename(artifact_folder)
        else:
            artifact_folder.rename(tmp_path / "disk")
            artifact_folder.mkdir()

    return toggle


@pytest.mark.usefixtures("worker_lives")
def test_a_disk_that_is_away_for_a_moment_ends_no_job(api, unmount) -> None:
    job_id = api.post().json()["job_id"]
    bring(PdfJob.objects.get(), "succeeded")

    unmount()
    answers = [api.download(job_id), api.post()]
    unmount()

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "PDF_STORE_UNAVAILABLE")
    assert PdfJob.objects.get().status == "succeeded"
    assert b"".join(api.download(job_id).streaming_content) == PDF


def test_nothing_is_stored_on_the_bare_mount_point(artifact_folder, unmount) -> None:
    kept = artifacts.save(artifacts.new_key(uuid4(), NOON), PDF)

    unmount()
    with pytest.raises(artifacts.StorageUnavailable, match="is its disk mounted"):
        artifacts.save(artifacts.new_key(uuid4(), NOON), PDF)
    assert files(artifact_folder) == []
    unmount()

    assert files(artifact_folder) == [kept.artifact_key]


def test_a_disk_is_away_until_it_is_back(unmount) -> None:
    artifacts.save(artifacts.new_key(uuid4(), NOON), PDF)
    seen = [bool(artifacts.reason_unavailable())]
    for _ in range(2):
        unmount()
        seen.append(bool(artifacts.reason_unavailable()))

    assert seen == [False, True, False]


def test_a_disk_that_cannot_be_read_has_lost_nothing(artifact_folder) -> None:
    key = artifacts.save(artifacts.new_key(uuid4(), NOON), PDF).artifact_key
    folder = (artifact_folder / key).parent
    (artifact_folder / key).unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # now what lies below is not missing but unreachable

    with pytest.raises(artifacts.StorageUnavailable, match="Not a directory"):
        artifacts.exists(key)


def test_a_crash_while_writing_leaves_no_file(artifact_folder, monkeypatch) -> None:
    """The file gets its name last: a reader who sees it sees all of it."""
    key = artifacts.new_key(uuid4(), NOON)

    def crash(_: int) -> None:
        assert [name.endswith(".part") for name in files(artifact_folder)] == [True]
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", crash)
        with pytest.raises(SystemExit):
            artifacts.save(key, PDF)

    assert files(artifact_folder) == []
    assert not artifacts.exists(key)


def test_a_folder_removed_under_a_writers_feet_is_made_again(artifact_folder, monkeypatch) -> None:
    """A swept worker deletes its file and the empty folder while the next worker stores its own."""
    key = artifacts.new_key(uuid4(), NOON)
    mkdir, removed = Path.mkdir, []

    def make_and_lose(path: Path, *options: Any, **named: Any) -> None:
        mkdir(path, *options, **named)
        if not removed and path.name == key.split("/")[1]:
            removed.append(path.rmdir())

    monkeypatch.setattr(Path, "mkdir", make_and_lose)

    assert artifacts.save(key, PDF).size == len(PDF)
    assert files(artifact_folder) == [key]
    assert removed


def test_a_full_disk_is_reported_as_such(monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(artifacts.StorageUnavailable, match="No space left"):
        artifacts.save(artifacts.new_key(uuid4(), NOON), PDF)


def test_jobs_wait_while_the_disk_is_full_and_the_cleanup_makes_room(api, monkeypatch, caplog) -> None:
    stored, waiting = bring(new_job(api.user), "succeeded"), new_job(number=2)
    monkeypatch.setattr(folder, "LEAST_FREE", 2**80)

    run_due_jobs()
    cleanup.clean(ttl=timedelta(0))

    assert "no space is left on the disk of" in caplog.text
    assert PdfJob.objects.get(pk=waiting.pk).retry_count == 0
    assert PdfJob.objects.get(pk=stored.pk).status == "expired"


@pytest.mark.parametrize("key", ["../outside.pdf", "pdfs/../../outside.pdf", "{folder}/outside.pdf"])
def test_a_key_cannot_leave_the_folder(key: str) -> None:
    backend = storages["artifacts"]
    outside = Path(backend.location).parent / "outside.pdf"
    outside.write_bytes(PDF)
    key = key.format(folder=outside.parent)

    for door in (backend.open, backend.exists, backend.delete):
        with pytest.raises(SuspiciousFileOperation):
            door(key)
    with pytest.raises(SuspiciousFileOperation):
        backend.save(key, ContentFile(b"other"))
    assert outside.read_bytes() == PDF
