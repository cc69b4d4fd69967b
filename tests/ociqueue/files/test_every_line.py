"""Every line of a file is accounted for, and what is stored is what another reader finds on that line."""

import csv
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from kilit.csv import reader, text
from kilit.problems.registry import find_problems
from ociqueue.files.conversions import ConversionTable
from ociqueue.files.import_jobs import begin
from ociqueue.files.import_run import ReadingPass, import_now
from ociqueue.models import Conversion, ImportJob, Site
from ociqueue.operating.import_audit import imports_that_do_not_add_up
from tests.support.conversions import make_failed, new_conversion
from tests.support.imports import HEADER, TIME, good_lines, worked
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
    written = io.StringIO()
    writer = csv.DictWriter(written, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return written.getvalue().encode()


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


def miscounted_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    read = text._physical_lines
    monkeypatch.setattr(
        text,
        "_physical_lines",
        lambda *where: (line._replace(size=line.size + 1) for line in read(*where)),
    )


def other_text(monkeypatch: pytest.MonkeyPatch) -> None:
    read = text._read_records
    monkeypatch.setattr(
        text,
        "_read_records",
        lambda *where: (record._replace(text=record.text.replace("click-1", "click-2")) for record in read(*where)),
    )


def shortened_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read = text._read_records
    monkeypatch.setattr(text, "_read_records", lambda *where: list(read(*where))[:1])


def forgotten_line(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ConversionTable.process
    monkeypatch.setattr(
        ConversionTable, "process", lambda own, lines, *rest, **how: process(own, lines[1:], *rest, **how)
    )


def unread_line(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ReadingPass.process
    monkeypatch.setattr(ReadingPass, "process", lambda own, batch, user: process(own, batch[1:], user))


def other_place(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ReadingPass.process

    def move(own: ReadingPass, batch: Any, user: Any) -> Any:
        ImportJob.objects.update(done_bytes=1)
        return process(own, batch, user)

    monkeypatch.setattr(ReadingPass, "process", move)


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (miscounted_sizes, "From line 2 on, what was read is not what the file has."),
        (other_text, "From line 3 on, what was read is not what the file has."),
        (shortened_file, "From line 3 on, what was read is not what the file has."),
        (forgotten_line, "Lines are not accounted for: 3 read, 2 processed, results for 2."),
        (unread_line, "Lines are not accounted for: 2 read, 3 processed, results for 3."),
        (other_place, "A batch began at another place than the last one ended."),
    ],
)
def test_an_import_that_loses_a_line_fails_and_is_a_problem(
    site, admin_user, monkeypatch, break_it: Callable[[pytest.MonkeyPatch], None], sentence: str
) -> None:
    file = io.BytesIO(f"{HEADER}{good_lines(3)}".encode())
    kept = begin(site, file)
    break_it(monkeypatch)

    job = worked(kept)

    assert (job.status, job.error) == ("FAILED", sentence)
    assert not Conversion.objects.exists()
    assert "import-stopped" in [problem.kind for problem in find_problems(admin_user)]


@pytest.mark.parametrize("change", ["line_count = 4", 'counts = \'{"lines": 3, "created": 2}\'', "done_bytes = 5"])
def test_the_database_calls_no_import_done_that_does_not_add_up(site, change: str) -> None:
    job = import_now(site, io.BytesIO(f"{HEADER}{good_lines(3)}".encode()), is_confirmed=True, seconds=60)
    assert list(imports_that_do_not_add_up()) == []

    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE ociqueue_importjob SET {change} WHERE id = %s", [job.pk])


BEFORE_THE_GUARD = """
    SET LOCAL session_replication_role = replica;
    UPDATE ociqueue_importjob SET counts = '{"lines": 4, "created": 4}';
    SET LOCAL session_replication_role = DEFAULT
"""


def test_an_import_that_was_done_without_adding_up_can_still_be_changed_otherwise(site, sql) -> None:
    import_now(site, io.BytesIO(f"{HEADER}{good_lines(3)}".encode()), is_confirmed=True, seconds=60)
    sql(BEFORE_THE_GUARD)

    sql("UPDATE ociqueue_importjob SET file_name = '…'")

    assert ImportJob.objects.get().file_name == "…"


@pytest.mark.parametrize("column", ["checked", "counts"])
def test_the_database_moves_no_import_on_that_does_not_add_up(site, sql, column: str) -> None:
    job = worked(begin(site, io.BytesIO(f"{HEADER}{good_lines(3)}".encode())))
    state = {"checked": "CHECKING", "counts": "RUNNING"}[column]
    sql(
        f"SET LOCAL session_replication_role = replica; UPDATE ociqueue_importjob SET status = '{state}',"
        " started_at = now(), encoding = 'utf-8', decimal_mark = '.', done_bytes = size, line_count = 3;"
        " SET LOCAL session_replication_role = DEFAULT"
    )

    target = {"checked": "READY", "counts": "DONE"}[column]
    with pytest.raises(IntegrityError, match="its counts do not add up"), transaction.atomic():
        sql(f"UPDATE ociqueue_importjob SET status = '{target}', {column} = '{{}}' WHERE id = '{job.pk}'")


def test_the_audit_finds_an_import_whose_lines_or_rows_are_not_as_many(site, sql) -> None:
    job = import_now(site, io.BytesIO(f"{HEADER}{good_lines(3)}".encode()), is_confirmed=True, seconds=60)
    sql(BEFORE_THE_GUARD)

    found = list(imports_that_do_not_add_up())

    assert found == [
        f"Import {job.pk} is done, but not each of its 3 lines is accounted for.",
        f"Import {job.pk} stored 4 rows by its own count; there are 3.",
    ]


def test_the_audit_names_an_import_that_does_not_add_up_for_a_day(site, sql) -> None:
    import_now(site, io.BytesIO(f"{HEADER}{good_lines(3)}".encode()), is_confirmed=True, seconds=60)
    sql(BEFORE_THE_GUARD)
    sql("UPDATE ociqueue_importjob SET finished_at = finished_at - interval '2 days'")

    assert list(imports_that_do_not_add_up()) == []
