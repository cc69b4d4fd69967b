"""Two large files at once, their sites in opposite order, and workers that are killed: every line is accounted for."""

import csv
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO

import pytest
from django.db import connection, connections

from kilit.audit.run import audit
from ociqueue.files.import_jobs import begin
from ociqueue.files.import_run import ENGINE
from ociqueue.models import ImportJob, Site
from tests.support.imports import TIME
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.django_db(transaction=True)]

HEADER = "siteId,gclid,sourceKey,conversionName,conversionTime,conversionCurrency,conversionValue\n"
KILLS = 6


def lines_of(name: str, sites: list[Site], count: int, place: Callable[[int], int]) -> bytes:
    """Return a file whose lines have 128 bytes each: what is read at a wrong place still looks like a line."""
    lines = []
    for number in range(count):
        start, end = f"{sites[place(number)].public_id},click-{name}-{number}-", f",{name}-{number:07}"
        end += f",Sale,{TIME},TRY,{number % 9973}.25\n"
        lines.append(start + "x" * (128 - len(start) - len(end)) + end)
    return (HEADER + "".join(lines)).encode()


def work() -> int:
    """Start a worker of imports in a process of its own."""
    if child := os.fork():
        return child
    try:
        for each in connections.all():
            each.connection = None  # the parent's; closing it here would end it there
        while ImportJob.objects.open().exists():
            ENGINE.work_due(seconds=5)
    finally:
        os._exit(0)


@contextmanager
def two_workers() -> Iterator[list[int]]:
    children = [work(), work()]
    try:
        yield children
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def progress() -> int:
    """Return the bytes that were read, and then stored."""
    jobs = ImportJob.objects.values_list("status", "size", "done_bytes")
    return sum(done + size * (status in ("RUNNING", "DONE")) for status, size, done in jobs)


def selected(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.mark.parametrize("count", [12_000, 100_000])
def test_every_line_of_two_files_is_stored_once_as_it_is_whoever_is_killed(make_site, count: int) -> None:
    sites = sorted((make_site() for _number in range(4)), key=lambda site: site.pk)
    files = [
        lines_of("a", sites, count, lambda number: number * 4 // count),
        lines_of("b", sites, count, lambda number: 3 - number % 4),
    ]
    (before,) = selected("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    for file in files:
        begin(None, BytesIO(file), is_confirmed=True)
    total = 2 * sum(map(len, files))

    with two_workers() as children:
        for kill in range(KILLS):
            wait_until(lambda kill=kill: progress() > total * (kill + 1) // (KILLS + 2), every=0.02)
            child = children.pop(0)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            # Or they lapse by themselves half a minute later.
            ImportJob.objects.exclude(lease_until=None).update(lease_until="2020-01-01T00:00Z")
            children.append(work())
        wait_until(lambda: not ImportJob.objects.open().exists())

    ids = {site.public_id: str(site.pk) for site in sites}
    read = [row for file in files for row in csv.DictReader(StringIO(file.decode()))]
    stored = selected("SELECT site_id::text, source_key, gclid, trunc(value, 2)::text FROM offline_conversion_queue")
    assert sorted(stored) == sorted(
        (ids[row["siteId"]], row["sourceKey"], row["gclid"], row["conversionValue"]) for row in read
    )
    for job in ImportJob.objects.all():
        assert (job.status, job.line_count, job.counts["created"], job.done_bytes) == ("DONE", count, count, job.size)
    assert (before,) == tuple(selected("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
    assert audit(full=True).breaches == []
