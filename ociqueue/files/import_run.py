"""What is done with imports: lines are read, then checked, then stored."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import IO, Any, cast

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from kilit.access.encryption import DecryptionError
from kilit.batches.engine import BatchEngine, BatchStopped
from kilit.csv.numbers import POINT, AmountScan
from kilit.csv.reader import CsvLine, FileTally, LineReader, RejectedLine
from kilit.csv.text import CsvError, FileMisread, FilePlace, read_table_header
from kilit.lock.audit import without_activity
from kilit.lock.text import strip_control_chars
from kilit.workers import doorbells
from ociqueue.files.import_jobs import BELL, TABLES, acting_for, begin, end, may_import, open_file, sites_for
from ociqueue.files.site_tables import SiteTables
from ociqueue.models import ImportJob, ImportKey, ImportLine, Site
from ociqueue.models.import_job import LineIndex
from ociqueue.states import ImportState

AT_ONCE = 1024**2  # bytes, about 10,000 lines
SECONDS = 15  # in a request


def steps(job: ImportJob) -> Iterator[FileTally | None]:
    """Give the tally of each batch that is checked or stored."""
    try:
        with open_file(job) as stream:
            tables = SiteTables(TABLES[job.kind], job.site, read_table_header(stream, encoding=job.encoding))
            lines = tables.reader(stream)
            while job.is_working:
                yield from run_pass(job, tables, lines)
    except FileMisread as error:
        raise BatchStopped(str(error)) from error
    except CsvError as error:
        raise BatchStopped(str(error), verb="refuse") from error
    except DecryptionError as error:
        raise BatchStopped(_("The stored file can no longer be decrypted. Choose it again.")) from error


ENGINE = BatchEngine(bell=BELL, rows=ImportJob.objects.all, steps=steps, end=end, language=lambda job: job.language)


def check(site: Site | None, file: UploadedFile[bytes], user: User) -> ImportJob:
    """Check a file for its user to confirm: a small one in this process, others by workers."""
    stream: Any = file.file
    if (file.size or 0) <= AT_ONCE:
        return import_now(site, stream, is_confirmed=False, seconds=SECONDS, user=user, name=file.name)
    job = begin(site, stream, user=user, name=file.name or "")
    doorbells.ring(BELL)
    return job


def start(job: ImportJob) -> bool:
    """Store what was checked: a small file in this process, others by workers."""
    own_row, is_small = ImportJob.objects.filter(pk=job.pk), job.size <= AT_ONCE
    with transaction.atomic(), without_activity() if is_small else nullcontext():
        if not own_row.filter(status=ImportState.READY).start():
            return False
        claimed = own_row.claim_now() if is_small else None
    if claimed:
        ENGINE.work_now(claimed, seconds=SECONDS)
    else:
        doorbells.ring(BELL)
    return True


def import_now(
    site: Site | None,
    stream: IO[bytes],
    *,
    is_confirmed: bool,
    seconds: float = math.inf,
    report: Callable[[FileTally, int], None] = lambda _tally, _done_bytes: None,
    **columns: Any,
) -> ImportJob:
    """Check a file, or store a confirmed one, in this process. If it dies, or the seconds are over, workers go on."""
    # The activity shows what is stored, as one line.
    with transaction.atomic(), without_activity():
        job = ImportJob.objects.filter(pk=begin(site, stream, is_confirmed=is_confirmed, **columns).pk).claim_now()
    try:
        ENGINE.work_now(job, seconds=seconds, report=lambda tally: report(tally, job.done_bytes) if tally else None)
    except KeyboardInterrupt:
        ENGINE.cancel(job)
        raise
    return job


def tidy() -> str:
    """Cancel imports that were not confirmed in time, and delete what is left of those that have ended."""
    cancelled = ENGINE.cancel_unconfirmed()
    for job in ImportJob.objects.ended().filter(Exists(ImportKey.objects.filter(job=OuterRef("pk")))):
        ImportKey.objects.filter(job=job).delete()
    deleted, _by_model = ImportLine.objects.outdated().delete()
    return f"Cancelled {cancelled}, deleted {deleted} lines."


def run_pass(job: ImportJob, tables: SiteTables, lines: LineReader) -> Iterator[FileTally | None]:
    """Go through the file in the job's state, from the place that was reached."""
    run = PASSES[job.status](job, tables)
    end = FilePlace(job.done_bytes, job.next_line) if job.next_line else tables.header.below
    is_at_end = False
    while not is_at_end:
        batch, end = lines.batch(end)
        is_at_end = end.offset == job.size
        with transaction.atomic():
            job.renew()  # it fails if the import was cancelled; if not, cancelling waits for the batch
            # Read again for every batch: a user who lost the permission does not go on through an earlier upload.
            user = User.objects.get(pk=job.asked_by_id) if job.asked_by_id else None
            if user and not may_import(user, job.site):
                raise BatchStopped(_("%(user)s may no longer import into this site.") % {"user": user})
            changes = run.process(batch, user) if batch else {}
            changes |= {"done_bytes": end.offset, "next_line": end.number}
            held = ImportJob.objects.held_by(job).filter(done_bytes=job.done_bytes, next_line=job.next_line)
            if not held.update(updated_at=Now(), lapse_count=0, error="", **changes):
                raise BatchStopped(_("A batch began at another place than the last one ended."))
        for name, value in changes.items():
            setattr(job, name, value)
        if batch:
            yield run.tally
    with transaction.atomic():
        job.renew()
        run.finish()
    job.refresh_from_db()


def check_count(tally: FileTally, lines: int) -> None:
    """Stop an import that cannot say of each line what became of it."""
    if not tally.lines == tally.accounted == lines:
        numbers = tally.formatted(read=lines, accounted=tally.accounted)
        message = _("Lines are not accounted for: %(read)s read, %(lines)s processed, results for %(accounted)s.")
        raise BatchStopped(message % numbers)


MOST_LINES_KEPT = 100_000  # rejected lines of a file that can be downloaded


class ImportPass(ABC):
    """What is done with each batch of a file in one state; the answer is what the job remembers."""

    def __init__(self, job: ImportJob, tables: SiteTables) -> None:
        self.job, self.tables = job, tables
        self.tally: FileTally | None = None  # of the last batch

    @abstractmethod
    def process(self, batch: list[CsvLine], user: User | None) -> dict[str, Any]: ...

    @abstractmethod
    def finish(self) -> None: ...


class ReadingPass(ImportPass):
    """Finds out how amounts are written, and remembers what each line names."""

    def process(self, batch: list[CsvLine], user: User | None) -> dict[str, Any]:
        scan = self._scan()
        for line in batch:
            scan.add(line)
        self.tables.add_keys(batch, LineIndex(self.job), mark=POINT, sites=sites_for(user))
        amounts = {"shown": scan.shown, "doubtful": scan.doubtful}
        return {"amounts": amounts, "line_count": self.job.line_count + len(batch)}

    def finish(self) -> None:
        self.job.check_lines(decimal_mark=self._scan().result())
        if self.job.is_confirmed:
            ImportJob.objects.held_by(self.job).start()

    def _scan(self) -> AmountScan:
        return AmountScan(self.tables.kind.amounts, **self.job.amounts)


class CheckingPass(ImportPass):
    """Says what would become of each line."""

    def process(self, batch: list[CsvLine], user: User | None) -> dict[str, Any]:
        return {"checked": self.count(batch, user, self.job.checked, dry_run=True)}

    def finish(self) -> None:
        check_count(self.tables.kind.tally(**self.job.checked), self.job.line_count)
        self.job.prepare()

    def count(
        self, batch: list[CsvLine], user: User | None, before: dict[str, int], *, dry_run: bool
    ) -> dict[str, int]:
        mark, sites = self.job.decimal_mark, sites_for(user)
        self.tally = self.tables.process(batch, LineIndex(self.job), mark=mark, sites=sites, dry_run=dry_run)
        check_count(self.tally, len(batch))
        tally = self.tables.kind.tally(**cast("Any", before))
        kept = tally.rejected_lines + getattr(tally, "differing_lines", 0)
        keep_lines(self.job, self.tally, kept=kept, dry_run=dry_run)
        tally.add(self.tally)
        return tally.counts()


class StoringPass(CheckingPass):
    """Stores the lines, in the name of the user who chose the file."""

    def process(self, batch: list[CsvLine], user: User | None) -> dict[str, Any]:
        with acting_for(user, reason=self.job.reason):
            return {"counts": self.count(batch, user, self.job.counts, dry_run=False)}

    def finish(self) -> None:
        check_count(self.tables.kind.tally(**self.job.counts), self.job.line_count)
        self.job.finish()
        end(self.job)
        ImportKey.objects.filter(job=self.job).delete()


PASSES: dict[str, type[ImportPass]] = {
    ImportState.READING: ReadingPass,
    ImportState.CHECKING: CheckingPass,
    ImportState.RUNNING: StoringPass,
}


def keep_lines(job: ImportJob, tally: FileTally, *, kept: int, dry_run: bool) -> None:
    lines = [(line, False) for line in tally.rejected] + [(line, True) for line in getattr(tally, "differing", [])]
    ImportLine.objects.bulk_create(
        _kept_line(job, line, is_checked=dry_run, is_differing=is_differing)
        for line, is_differing in lines[: max(0, MOST_LINES_KEPT - kept)]
    )


def _kept_line(job: ImportJob, rejected: RejectedLine, **columns: object) -> ImportLine:
    line = rejected.line
    return ImportLine(
        job=job,
        line=line.number,
        cells={name: strip_control_chars(line.shown(name)) for name in line.cells},
        text=strip_control_chars(line.text),
        faults=[[fault.field, strip_control_chars(fault.reason), fault.value] for fault in rejected.fields],
        reason=strip_control_chars(rejected.reason),
        delimiter=line.delimiter,
        **columns,
    )
