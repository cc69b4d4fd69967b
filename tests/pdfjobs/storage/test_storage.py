"""Files are stored in a folder or in a bucket, and a bucket may be of several installations."""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.utils import timezone
from moto.server import ThreadedMotoServer

from pdfjobs import cleanup
from pdfjobs.backup import PdfFiles
from pdfjobs.checks import check_bucket
from pdfjobs.models import BucketFolder, PdfJob
from pdfjobs.storage import artifacts, owner, s3
from pdfjobs.work import run_due_jobs
from tests.support.pdf_jobs import PDF, bring, new_job
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)
FOLDER = "pdfs-of-this-installation"
ENTRY = {"access_key": "test", "secret_key": "test", "region_name": "eu-central-1"}


def use_bucket(settings: Any, address: str, name: str = "pdf", **options: Any) -> None:
    options = {"bucket_name": name, "endpoint_url": address, **ENTRY, **options}
    backend = {"BACKEND": "pdfjobs.storage.s3.S3ArtifactStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "artifacts": backend}


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


@pytest.fixture
def bucket(request: pytest.FixtureRequest, settings, monkeypatch) -> Callable[[], None]:
    """Store files in a bucket, with long timeouts for busy machines; call it to begin as another process does."""
    patient = Config(connect_timeout=PATIENCE, read_timeout=PATIENCE)
    monkeypatch.setattr(s3, "CLIENT_TIMEOUTS", s3.CLIENT_TIMEOUTS.merge(patient))
    address, name = request.getfixturevalue("s3_server"), f"pdf-{uuid4().hex[:8]}"
    client = boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="eu-central-1",
        config=patient,
    )
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    BucketFolder.objects.get_or_create(pk=1, defaults={"name": FOLDER})  # tests that flush tables leave no row
    BucketFolder.objects.update(name=FOLDER)
    use_bucket(settings, address, name)
    return lambda: use_bucket(settings, address, name)


@pytest.fixture(params=["folder", "bucket"])
def anywhere(request: pytest.FixtureRequest) -> str:
    """Store files in the test's folder, or in a bucket."""
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    return request.param


def test_a_key_says_whose_it_is_and_when() -> None:
    job = uuid4()

    assert artifacts.new_key(job, NOON) == f"pdfs/{job}/20261115T120000123456.pdf"
    assert artifacts.job_id_of(artifacts.new_key(job, NOON)) == job
    assert artifacts.job_id_of("pdfs/nonsense") is None


def test_what_is_kept_is_found_read_and_deleted(anywhere) -> None:
    key = artifacts.new_key(uuid4(), NOON)

    kept = artifacts.save(key, PDF)

    assert kept == (key, len(PDF), hashlib.sha256(PDF).hexdigest())
    assert artifacts.exists(key)
    with artifacts.open_file(key) as file:
        assert (file.size, file.read()) == (len(PDF), PDF)
    (stored,) = artifacts.list_files()
    assert stored.key == key
    assert abs(stored.modified_at - timezone.now()) < timedelta(minutes=5)
    artifacts.delete(key)
    artifacts.delete(key)
    assert not artifacts.exists(key)
    assert list(artifacts.list_files()) == []
    with pytest.raises(FileNotFoundError):
        artifacts.open_file(key)


def test_a_job_is_downloaded_in_parts_cleaned_and_gone(anywhere, api) -> None:
    job = bring(new_job(api.user), "succeeded")

    whole, part = api.download(job.pk), api.download(job.pk, range="bytes=10-70000")

    assert b"".join(whole.streaming_content) == PDF
    assert (part.status_code, b"".join(part.streaming_content)) == (206, PDF[10:70001])
    cleanup.clean(ttl=timedelta(0))
    assert api.download(job.pk).status_code == 410
    assert list(artifacts.list_files()) == []
    assert PdfJob.objects.get(pk=job.pk).status == "expired"


def test_a_download_that_began_before_the_deletion_is_whole(anywhere, api) -> None:
    job = bring(new_job(api.user), "succeeded")
    pieces = iter(api.download(job.pk).streaming_content)
    begun = next(pieces)

    artifacts.delete(job.artifact_key)

    assert begun + b"".join(pieces) == PDF


def test_a_file_that_was_changed_in_the_store_is_not_sent(anywhere, api) -> None:
    job = bring(new_job(api.user), "succeeded")
    artifacts.save(job.artifact_key, bytes(reversed(PDF)))

    assert api.download(job.pk).json()["error"]["code"] == "FILE_CHANGED"


def test_two_installations_in_one_bucket_leave_each_others_files(bucket, monkeypatch) -> None:
    monkeypatch.setattr(cleanup, "ORPHANED_AFTER", timedelta(hours=-1))
    key = artifacts.save(artifacts.new_key(uuid4(), NOON), PDF).artifact_key

    BucketFolder.objects.update(name="pdfs-of-another")
    bucket()
    seen = [cleanup.preview().orphans, cleanup.clean().orphans]
    orphan = artifacts.save(artifacts.new_key(uuid4(), NOON), PDF).artifact_key

    assert seen == [0, 0]
    assert artifacts.exists(key)
    assert (cleanup.clean().orphans, artifacts.exists(orphan)) == (1, False)


@pytest.fixture
def copied_database(bucket, monkeypatch, api) -> PdfJob:
    """Bring back a stored job as a copy of its database sees it: with the same folder, in another database."""
    job = bring(new_job(api.user), "succeeded")
    monkeypatch.setattr(owner, "own_database", lambda: "database 5 of the server 7")
    bucket()
    return job


@pytest.mark.parametrize(
    "touch",
    [
        lambda job: artifacts.save(artifacts.new_key(job.pk, NOON), PDF),
        lambda job: artifacts.delete(job.artifact_key),
        lambda _: cleanup.clean(ttl=timedelta(0)),
        lambda _: cleanup.preview(),
    ],
    ids=["store", "delete", "cleanup", "dry run"],
)
def test_a_copy_of_a_database_touches_no_file_of_the_original(copied_database, touch: Callable[[PdfJob], Any]) -> None:
    expected = f"folder {FOLDER} in the bucket pdf-.* belongs to another installation, database .* of the server"

    with pytest.raises(artifacts.StorageUnavailable, match=expected):
        touch(copied_database)

    assert [file.key for file in artifacts.list_files()] == [copied_database.artifact_key]


def test_a_check_and_the_workers_of_a_copy_say_whose_the_files_are(copied_database, settings, caplog) -> None:
    settings.PDF_S3_BUCKET = "set"
    waiting = new_job(number=2)

    (error,) = check_bucket(databases=["default"])
    run_due_jobs()

    assert "belongs to another installation" in error.msg
    assert "belongs to another installation" in caplog.messages[-1]
    assert PdfJob.objects.get(pk=waiting.pk).status == "queued"


def test_files_that_were_stored_before_there_were_folders_are_read_and_deleted(bucket, api) -> None:
    job = new_job(api.user)
    (claimed,) = PdfJob.objects.filter(pk=job.pk).claim()
    kept = artifacts.save(f"pdfs/{job.pk}/20261115T120000123456.pdf", PDF)
    claimed.succeed(artifact_key=kept.artifact_key, size=kept.size, digest=kept.digest)

    whole = b"".join(api.download(job.pk).streaming_content)
    cleanup.clean(ttl=timedelta(0))

    assert whole == PDF
    assert not artifacts.exists(kept.artifact_key)


@pytest.mark.parametrize("folder_name", ["pdfs", FOLDER])
def test_a_backup_is_restored_into_a_bucket_before_there_are_tables(bucket, sql, folder_name: str) -> None:
    key = f"{folder_name}/{uuid4()}/20261115T120000123456.pdf"
    sql("DROP TABLE pdfjobs_bucketfolder")

    PdfFiles().save(key, ContentFile(PDF))

    with artifacts.open_file(key) as file:
        assert file.read() == PDF


def test_a_backup_is_not_restored_into_the_folder_of_another_database(copied_database, bucket) -> None:
    BucketFolder.objects.update(name="pdfs-of-the-database-that-is-replaced")
    bucket()

    with pytest.raises(artifacts.StorageUnavailable, match=f"folder {FOLDER} .* belongs to another installation"):
        PdfFiles().save(copied_database.artifact_key, ContentFile(b"other"))


def test_the_check_of_a_bucket_waits_for_the_table_that_names_its_folder(bucket, settings, sql) -> None:
    settings.PDF_S3_BUCKET = "set"
    sql("DROP TABLE pdfjobs_bucketfolder")

    assert check_bucket(databases=["default"]) == []


def test_the_cleanup_of_a_bucket_without_credentials_ends_with_a_sentence(settings, monkeypatch) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    BucketFolder.objects.get_or_create(pk=1, defaults={"name": FOLDER})
    use_bucket(settings, "http://127.0.0.1:9", access_key=None, secret_key=None)

    with pytest.raises(CommandError, match="pdf_cleanup could not run: Unable to locate credentials"):
        call_command("pdf_cleanup")


@pytest.fixture
def silent_bucket(settings, monkeypatch) -> Iterator[None]:
    """Store files in a bucket whose server accepts connections and never answers."""
    assert s3.CLIENT_TIMEOUTS.read_timeout <= 10
    monkeypatch.setattr(s3, "CLIENT_TIMEOUTS", s3.CLIENT_TIMEOUTS.merge(Config(read_timeout=0.2)))
    BucketFolder.objects.get_or_create(pk=1, defaults={"name": FOLDER})
    with socket.create_server(("127.0.0.1", 0)) as server:
        use_bucket(settings, f"http://127.0.0.1:{server.getsockname()[1]}")
        yield


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
@pytest.mark.usefixtures("silent_bucket")
@pytest.mark.parametrize(
    "ask",
    [
        artifacts.exists,
        artifacts.open_file,
        artifacts.delete,
        lambda key: artifacts.save(key, PDF),
        lambda _: list(artifacts.list_files()),
    ],
    ids=["exists", "open", "delete", "keep", "list"],
)
def test_a_bucket_that_says_nothing_is_not_waited_for(ask: Callable[[str], Any]) -> None:
    with pytest.raises(artifacts.StorageUnavailable):
        ask(artifacts.new_key(uuid4(), NOON))


def test_a_store_that_does_not_answer_a_download_is_503(api, settings) -> None:
    job = bring(new_job(api.user), "succeeded")
    use_bucket(settings, "http://127.0.0.1:9")

    answer = api.download(job.pk)

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "PDF_STORE_UNAVAILABLE")
    assert PdfJob.objects.get(pk=job.pk).status == "succeeded"


def test_a_store_that_was_never_used_is_not_away(anywhere) -> None:
    assert not artifacts.reason_unavailable()


@pytest.mark.usefixtures("silent_bucket")
def test_a_bucket_that_says_nothing_is_away() -> None:
    assert artifacts.reason_unavailable()
