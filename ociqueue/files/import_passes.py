"""What is done with the lines of an import: they are read, then checked, then stored."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from django.contrib.auth.models import User

from kilit.access.roles import actor_of
from kilit.csv.index import LineKey
from kilit.csv.reader import CsvLine, FileTally, RejectedLine
from kilit.lock.audit import acting_as
from kilit.lock.text import strip_control_chars
from ociqueue.files.formats import POINT, AmountScan
from ociqueue.files.import_jobs import TALLIES, end, reason_of
from ociqueue.files.table import CsvTable
from ociqueue.models import ImportJob, ImportKey, ImportLine
from ociqueue.states import ImportState

MOST_LINES_KEPT = 100_000  # rejected lines of a file that can be downloaded


class ImportPass(ABC):
    """What is done with each batch of a file in one state; the answer is what the job remembers."""

    def __init__(self, job: ImportJob, table: CsvTable[Any]) -> None:
        self.job, self.table = job, table

    @abstractmethod
    def process(self, batch: list[CsvLine], user: User) -> dict[str, Any]: ...

    @abstractmethod
    def finish(self) -> None: ...


class ReadingPass(ImportPass):
    """Finds out how amounts are written, and remembers what each line names."""

    def process(self, batch: list[CsvLine], user: User) -> dict[str, Any]:
        scan = self._scan()
        for line in batch:
            scan.add(line)
        ImportKey.objects.add(self.job, self.table.keys(list(self.table.read(batch, POINT))))
        found = {"shown": scan.shown, "doubtful": scan.doubtful}
        return {"amounts": found, "line_count": self.job.line_count + len(batch)}

    def finish(self) -> None:
        self.job.check_lines(decimal_mark=self._scan().result())

    def _scan(self) -> AmountScan:
        return AmountScan(self.table.amounts, **self.job.amounts)


class CheckingPass(ImportPass):
    """Says what would become of each line."""

    def process(self, batch: list[CsvLine], user: User) -> dict[str, Any]:
        return {"checked": self.count(batch, self.job.checked, dry_run=True)}

    def finish(self) -> None:
        self.job.prepare()

    def count(self, batch: list[CsvLine], before: dict[str, int], *, dry_run: bool) -> dict[str, int]:
        lines = list(self.table.read(batch, self.job.decimal_mark))
        found = self.table.process_batch(lines, StoredIndex(self.job), dry_run=dry_run)
        tally = TALLIES[self.job.kind](**cast("Any", before))
        keep_lines(self.job, found, kept=tally.rejected_lines + getattr(tally, "differing_lines", 0), dry_run=dry_run)
        tally.add(found)
        return tally.counts()


class StoringPass(CheckingPass):
    """Stores the lines, in the name of the user who chose the file."""

    def process(self, batch: list[CsvLine], user: User) -> dict[str, Any]:
        with acting_as(actor_of(user), reason=reason_of(self.job.kind)):
            return {"counts": self.count(batch, self.job.counts, dry_run=False)}

    def finish(self) -> None:
        self.job.finish()
        end(self.job)
        ImportKey.objects.filter(job=self.job).delete()


PASSES: dict[str, type[ImportPass]] = {
    ImportState.READING: ReadingPass,
    ImportState.CHECKING: CheckingPass,
    ImportState.RUNNING: StoringPass,
}


@dataclass(frozen=True)
class StoredIndex:
    job: ImportJob

    def find(self, digests: Iterable[int]) -> dict[int, list[LineKey]]:
        return ImportKey.objects.find_lines(self.job, digests)


def keep_lines(job: ImportJob, found: FileTally, *, kept: int, dry_run: bool) -> None:
    """Store the lines of a batch that were not stored, until there are too many of them."""
    lines = [(line, False) for line in found.rejected] + [(line, True) for line in getattr(found, "differing", [])]
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
        faults=[[each.field, strip_control_chars(each.reason), each.value] for each in rejected.fields],
        reason=strip_control_chars(rejected.reason),
        delimiter=line.delimiter,
        **columns,
    )
