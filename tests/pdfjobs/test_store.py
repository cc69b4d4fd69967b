"""Files are there whole or not at all, in a folder or in a bucket."""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.utils import timezone
from moto.server import ThreadedMotoServer

from pdfjobs import bucket, cleanup, store
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import PDF, bring, files, new_job
from tests.support.waiting import PATIENCE

NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)
ENTRY = {"access_key": "test", "secret_key": "test", "region_name": "eu-central-1"}


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    """Run an S3 server of our own on this machine."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture(params=["folder", "bucket"])
def anywhere(request: pytest.FixtureRequest, settings, monkeypatch) -> str:
    """Keep files in the test's folder, or in a bucket of the server's, which may be as slow as the machine is."""
    if request.param == "bucket":
        patient = Config(connect_timeout=PATIENCE, read_timeout=PATIENCE)
        monkeypatch.setattr(bucket, "PATIENCE", bucket.PATIENCE.merge(patient))
        address = request.getfixturevalue("s3_server")
        name = f"pdf-{uuid4().hex[:8]}"
        client = boto3.client(
            "s3",
            endpoint_url=address,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="eu-central-1",
            config=patient,
        )
        client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        options = {"bucket_name": name, "endpoint_url": address, **ENTRY}
        artifacts = {"BACKEND": "pdfjobs.bucket.S3Artifacts", "OPTIONS": options}
        settings.STORAGES = {**settings.STORAGES, "artifacts": artifacts}
    return request.param


def test_a_key_says_whose_it_is_and_when() -> None:
    job = uuid4()

    assert store.new_key(job, NOON) == f"pdfs/{job}/20261115T120000123456.pdf"
    assert store.job_of(store.new_key(job, NOON)) == job
    assert store.job_of("pdfs/nonsense") is None


def test_what_is_kept_is_found_read_and_deleted(anywhere) -> None:
    key = store.new_key(uuid4(), NOON)

    kept = store.keep(key, PDF)

    assert kept == (key, len(PDF), hashlib.sha256(PDF).hexdigest())
    assert store.exists(key)
    with store.open_file(key) as file:
        assert (file.size, file.read()) == (len(PDF), PDF)
    (stored,) = store.stored()
    assert stored.key == key
    assert abs(stored.since - timezone.now()) < timedelta(minutes=5)
    store.delete(key)
    store.delete(key)
    assert not store.exists(key)
    assert list(store.stored()) == []
    with pytest.raises(FileNotFoundError):
        store.open_file(key)


@pytest.mark.django_db
def test_a_job_is_downloaded_in_parts_cleaned_and_gone(anywhere, api) -> None:
    job = bring(new_job(api.user), "succeeded")

    whole, part = api.download(job.pk), api.download(job.pk, range="bytes=10-70000")

    assert b"".join(whole.streaming_content) == PDF
    assert (part.status_code, b"".join(part.streaming_content)) == (206, PDF[10:70001])
    cleanup.clean(ttl=timedelta(0))
    assert api.download(job.pk).status_code == 410
    assert list(store.stored()) == []
    assert PdfJob.objects.get(pk=job.pk).status == "expired"


@pytest.mark.django_db
def test_a_download_that_began_before_the_deletion_is_whole(anywhere, api) -> None:
    job = bring(new_job(api.user), "succeeded")
    pieces = iter(api.download(job.pk).streaming_content)
    begun = next(pieces)

    store.delete(job.artifact_key)

    assert begun + b"".join(pieces) == PDF


def test_a_crash_while_writing_leaves_no_file(artifacts, monkeypatch) -> None:
    """The name is given last: whoever sees it sees all of it."""
    key = store.new_key(uuid4(), NOON)

    def crash(_: int) -> None:
        assert [name.endswith(".part") for name in files(artifacts)] == [True]
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", crash)
        with pytest.raises(SystemExit):
            store.keep(key, PDF)

    assert files(artifacts) == []
    assert not store.exists(key)


def test_a_folder_removed_under_a_writers_feet_is_made_again(artifacts, monkeypatch) -> None:
    """A swept worker takes its file back, and the empty folder with it, while the next one stores its own."""
    key = store.new_key(uuid4(), NOON)
    mkdir, removed = Path.mkdir, []

    def make_and_lose(path: Path, *options: Any, **named: Any) -> None:
        mkdir(path, *options, **named)
        if not removed and path.name == key.split("/")[1]:
            removed.append(path.rmdir())

    monkeypatch.setattr(Path, "mkdir", make_and_lose)

    assert store.keep(key, PDF).size == len(PDF)
    assert files(artifacts) == [key]
    assert removed


def test_a_full_disk_is_told_as_such(monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(store.StoreDown, match="No space left"):
        store.keep(store.new_key(uuid4(), NOON), PDF)


@pytest.mark.parametrize("key", ["../outside.pdf", "pdfs/../../outside.pdf", "{folder}/outside.pdf"])
def test_a_key_cannot_leave_the_folder(key: str) -> None:
    artifacts = storages["artifacts"]
    outside = Path(artifacts.location).parent / "outside.pdf"
    outside.write_bytes(PDF)
    key = key.format(folder=outside.parent)

    for door in (artifacts.open, artifacts.exists, artifacts.delete):
        with pytest.raises(SuspiciousFileOperation):
            door(key)
    with pytest.raises(SuspiciousFileOperation):
        artifacts.save(key, ContentFile(b"other"))
    assert outside.read_bytes() == PDF


@pytest.fixture
def silent_bucket(settings, monkeypatch) -> Iterator[None]:
    """Keep files in a bucket whose server takes every call and never says a word."""
    assert bucket.PATIENCE.read_timeout <= 10
    monkeypatch.setattr(bucket, "PATIENCE", bucket.PATIENCE.merge(Config(read_timeout=0.2)))
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = {"bucket_name": "pdf", "endpoint_url": f"http://127.0.0.1:{server.getsockname()[1]}", **ENTRY}
        artifacts = {"BACKEND": "pdfjobs.bucket.S3Artifacts", "OPTIONS": options}
        settings.STORAGES = {**settings.STORAGES, "artifacts": artifacts}
        yield


@pytest.mark.usefixtures("silent_bucket")
@pytest.mark.parametrize(
    "ask",
    [
        store.exists,
        store.open_file,
        store.delete,
        lambda key: store.keep(key, PDF),
        lambda _: list(store.stored()),
    ],
    ids=["exists", "open", "delete", "keep", "list"],
)
def test_a_bucket_that_says_nothing_is_not_waited_for(ask: Callable[[str], Any]) -> None:
    with pytest.raises(store.StoreDown):
        ask(store.new_key(uuid4(), NOON))


@pytest.fixture
def unmount(artifacts: Path, tmp_path: Path) -> Callable[[], None]:
    """Take the disk away from under its mount point; it comes back when called again."""

    def toggle() -> None:
        if (tmp_path / "disk").exists():
            artifacts.rmdir()
            (tmp_path / "disk").rename(artifacts)
        else:
            artifacts.rename(tmp_path / "disk")
            artifacts.mkdir()

    return toggle


@pytest.mark.django_db
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


def test_nothing_is_stored_on_the_bare_mount_point(artifacts, unmount) -> None:
    kept = store.keep(store.new_key(uuid4(), NOON), PDF)

    unmount()
    with pytest.raises(store.StoreDown, match="is its disk mounted"):
        store.keep(store.new_key(uuid4(), NOON), PDF)
    assert files(artifacts) == []
    unmount()

    assert files(artifacts) == [kept.artifact_key]


def test_a_store_that_was_never_used_is_not_away(anywhere) -> None:
    assert not store.is_away()


def test_a_disk_is_away_until_it_is_back(unmount) -> None:
    store.keep(store.new_key(uuid4(), NOON), PDF)
    seen = [store.is_away()]
    for _ in range(2):
        unmount()
        seen.append(store.is_away())

    assert seen == [False, True, False]


@pytest.mark.usefixtures("silent_bucket")
def test_a_bucket_that_says_nothing_is_away() -> None:
    assert store.is_away()


def test_a_disk_that_cannot_be_read_has_lost_nothing(artifacts) -> None:
    key = store.keep(store.new_key(uuid4(), NOON), PDF).artifact_key
    folder = (artifacts / key).parent
    (artifacts / key).unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # now what lies below is not missing but unreachable

    with pytest.raises(store.StoreDown, match="Not a directory"):
        store.exists(key)
