"""Imports in the background, as an operator starts them and workers do them."""

from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import IO, Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kilit.csv.text import CsvError
from ociqueue.files.conversions import ImportTally
from ociqueue.files.import_run import ENGINE, import_now
from ociqueue.models import ImportJob, Site

ADDRESS = "/admin/ociqueue/conversion/import/"
PAGES = "/admin/ociqueue/importjob/"
TIME = (datetime.now(UTC) - timedelta(hours=3)).isoformat(timespec="seconds")
HEADER = "conversionName,gclid,conversionTime,conversionValue,conversionCurrency\n"


def good_lines(count: int, *, first: int = 0) -> str:
    return "".join(f"Satış,click-{first + number},{TIME},1.50,TRY\n" for number in range(count))


def upload(client: Client, site: Site, content: str | bytes) -> Any:
    """Choose a file on the import page, which checks it."""
    data = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile("satışlar.csv", data)
    return client.post(ADDRESS, {"site": str(site.pk), "file": file})


def uploaded(client: Client, site: Site, content: str | bytes) -> ImportJob:
    """Upload a file that workers import, and return the import."""
    answer = upload(client, site, content)
    assert answer.status_code == 302, answer.context["faults"]
    return ImportJob.objects.latest("created_at")


def worked(job: ImportJob) -> ImportJob:
    """Let a worker do all there is."""
    ENGINE.work_due()
    job.refresh_from_db()
    return job


def confirm(client: Client, job: ImportJob | None = None) -> Any:
    """Import what was checked, or what was checked last."""
    job = job or ImportJob.objects.latest("created_at")
    return client.post(f"{PAGES}{job.pk}/start/", {"site": str(job.site_id or "")}, follow=True)


def imported(client: Client, site: Site, content: str | bytes) -> ImportJob:
    """Upload, check, confirm and store."""
    job = worked(uploaded(client, site, content))
    assert job.status == "READY", job.error
    confirm(client, job)
    return worked(job)


def rejected_lines(client: Client, job: ImportJob, query: str = "") -> str:
    answer = client.get(f"{PAGES}{job.pk}/lines/{query}")
    return b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]


def import_file(site: Site, content: bytes | IO[bytes], *, dry_run: bool = False, user: User | None = None) -> Any:
    """Import a file at once, as the command does, and return the tally of all its batches."""
    tallies: list[Any] = []
    stream = BytesIO(content) if isinstance(content, bytes) else content
    job = import_now(
        site, stream, is_confirmed=not dry_run, user=user, report=lambda tally, _done: tallies.append(tally)
    )
    if job.error:
        raise CsvError(job.error)
    total = type(tallies[0])() if tallies else ImportTally()
    for tally in tallies:
        total.add(tally, most=1000)
    return total
