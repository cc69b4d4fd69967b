"""Every line of a file is accounted for, and what is stored is what another reader finds on that line."""

import csv
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from kilit.csv import reader
from ociqueue.files.import_run import import_now
from ociqueue.models import Conversion, ImportJob, Site
from tests.support.conversions import make_failed, new_conversion
from tests.support.imports import HEADER, TIME
from tests.support.turns import in_own_session
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = pytest.mark.django_db

LINES = 120  # of 128 bytes and more, so that the file is longer than what a stream reads ahead
ORDERS: dict[str, Callable[[int], int]] = {
    "quarters": lambda number: number * 4 // LINES,
    "alternating": lambda number: number % 4,
    "new in the last batch": lambda number: int(number >= LINES - 5),
}


@pytest.fixture
def sites(make_site, monkeypatch: pytest.MonkeyPatch) -> list[Site]:
    monkeypatch.setattr(reader, "BATCH", 25)
    return [make_site(sync_method="api") for _number in range(4)]


def conversion_lines(sites: Sequence[Site], order: Callable[[int], int]) -> list[dict[str, str]]:
    columns = {"conversionName": "Satış", "conversionTime": TIME, "conversionCurrency": "TRY"}
    lines = []
    for number in range(LINES):
        line = {"siteId": sites[order(number)].public_id, "gclid": f"click-{number}", "sourceKey": f"order-{number:05}"}
        line |= columns | {"conversionValue": f"{number}.25"}
        # Lines of one length: whoever goes on at a wrong place takes cells of two lines for one.
        line["gclid"] += "x" * (127 - len(",".join(line.values()).encode()))
        lines.append(line)
    return lines


def file_of(lines: Sequence[dict[str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().encode()


def selected(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return sorted(cursor.fetchall())


def imported(content: bytes, tmp_path: Any) -> ImportJob:
    path = tmp_path / "sales.csv"
    path.write_bytes(content)
    call_command("oci_import", path)
    return ImportJob.objects.get()


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_each_line_of_a_file_of_several_sites_is_stored_as_another_reader_reads_it(sites, order, tmp_path) -> None:
    content = file_of(conversion_lines(sites, order))

    job = imported(content, tmp_path)

    stored = selected("SELECT site_id::text, source_key, gclid, value FROM offline_conversion_queue")
    ids = {site.public_id: str(site.pk) for site in sites}
    read = csv.DictReader(io.StringIO(content.decode()))
    assert stored == sorted((ids[r["siteId"]], r["sourceKey"], r["gclid"], Decimal(r["conversionValue"])) for r in read)
    assert (job.status, job.counts["created"], job.done_bytes) == ("DONE", LINES, len(content))


def test_each_adjustment_of_a_file_of_several_sites_is_stored(sites, tmp_path) -> None:
    rows = {site.public_id: [new_conversion(site) for _number in range(LINES // 4)] for site in sites}
    Conversion.objects.bulk_create([row for own in rows.values() for row in own])
    lines = [
        {"siteId": name, "id": str(row), "kind": "RESTATEMENT", "value": f"{number}.50", "currency": "TRY"}
        for name, own in rows.items()
        for number, row in enumerate(own)
    ]
    content = file_of(lines)

    job = imported(content, tmp_path)

    stored = selected("SELECT original_id::text, kind, value FROM ociqueue_adjustment")
    assert stored == sorted((line["id"][-36:], line["kind"], Decimal(line["value"])) for line in lines)
    assert (job.status, job.counts["created"], job.done_bytes) == ("DONE", LINES, len(content))


def test_each_correction_of_a_file_of_several_sites_is_stored(sites, tmp_path) -> None:
    rows = {site.public_id: make_failed(site, LINES // 4) for site in sites}
    lines = [
        {"siteId": name, "id": str(row), "gclid": f"right-{name}-{number}"}
        for name, own in rows.items()
        for number, row in enumerate(own)
    ]
    content = file_of(lines)

    job = imported(content, tmp_path)

    stored = selected(
        "SELECT coalesce(replaces_id, id)::text, gclid FROM offline_conversion_queue WHERE gclid LIKE 'right-%'"
    )
    assert stored == sorted((line["id"][-36:], line["gclid"]) for line in lines)
    assert (job.status, job.counts["created"], job.done_bytes) == ("DONE", LINES, len(content))


LOCKS_OF_IMPORTS = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
      AND classid::bigint = hashtext('oci_import')::bigint & 4294967295
"""


@pytest.mark.django_db(transaction=True)
def test_a_batch_waits_for_a_site_before_it_holds_a_later_one(make_site) -> None:
    """Else two files with the same sites in opposite order would wait for each other."""
    first, second = sorted([make_site(), make_site()], key=lambda site: site.pk)
    lines = "".join(f"{site.public_id},Satış,c-1,{TIME},1.50,TRY\n" for site in (second, first))
    file = io.BytesIO(f"siteId,{HEADER}{lines}".encode())

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            selected(f"SELECT pg_advisory_xact_lock(hashtext('oci_import'), hashtext('{first.pk}'))::text")
            job = pool.submit(in_own_session, lambda: import_now(None, file, is_confirmed=True))
            wait_until(has_waiter, every=0.01)
            held = selected(LOCKS_OF_IMPORTS)
        counts = job.result(timeout=PATIENCE).counts

    assert held == []
    assert counts["created"] == 2
