"""A CSV file of a site, whatever its lines are: how it is read, and stored batch by batch.

1. All lines are read once: they show how amounts are written, and which of them name the same thing.
2. They are read again, and each batch is stored, or checked, in a transaction of its own.

A time of day in no zone is one of the site's zone. A file that does not show how it writes amounts, or shows both ways,
is refused. An import in the background (`ociqueue.files.import_run`) does the same and remembers the place it has
reached.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import IO, Any, ClassVar, Generic, TypeVar

from django.db import transaction

from kilit.api.input_model import FieldError
from kilit.csv.index import LineIndex, LineKey, MemoryIndex
from kilit.csv.numbers import POINT, AmountScan, with_point
from kilit.csv.reader import CsvLine, FileTally, RejectedField, RejectedLine, shorten
from kilit.csv.text import START, FilePlace, find_encoding, open_table
from kilit.csv.times import TimeFormat
from kilit.lock.audit import without_activity
from kilit.lock.models import Activity, ActivityKind
from ociqueue.models import Site

BATCH = 1000

Tally = TypeVar("Tally", bound=FileTally)


class CsvTable(ABC, Generic[Tally]):
    """One kind of file, opened for a site. The stream must be able to seek: it is read several times."""

    queue: ClassVar[str]  # that the lines are stored in
    amounts: ClassVar[Sequence[str]] = ()
    time: ClassVar[str] = ""
    words: ClassVar[Sequence[str]] = ()  # columns in which case does not matter
    is_one_activity: ClassVar[bool] = True  # the activity shows the whole file once, not each batch

    def __init__(self, site: Site, stream: IO[bytes], *, encoding: str = "") -> None:
        self.site, self.stream = site, stream
        self.encoding = encoding or find_encoding(stream)
        header, _records = open_table(stream, encoding=self.encoding)
        self._times = TimeFormat.of_file(header, site.zone)

    @abstractmethod
    def cells(self, place: FilePlace = START) -> Iterator[CsvLine]:
        """Return the lines as they are written, from a place on; CsvError if the kind has other columns."""

    def read(self, lines: Iterable[CsvLine], mark: str) -> Iterator[CsvLine]:
        """Return lines with times, amounts and words as the API takes them, given the file's decimal mark."""
        return (self._read_line(line, mark) for line in lines)

    def _read_line(self, line: CsvLine, mark: str) -> CsvLine:
        cells = dict(line.cells)
        try:
            if self.time in cells:
                cells[self.time] = self._times.read(cells[self.time])
        except ValueError as error:
            return replace(line, fault=f"{self.time}: {error}")
        cells |= {name: cells[name].upper() for name in self.words if name in cells}
        cells |= {name: with_point(cells[name], mark) for name in self.amounts if name in cells}
        return replace(line, cells=cells)

    @abstractmethod
    def keys(self, lines: Sequence[CsvLine]) -> list[LineKey]:
        """Return what the lines name; amounts do not matter."""

    @abstractmethod
    def process(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> Tally:
        """Store lines, or say what would become of them. Needs a transaction."""

    def scan(self) -> AmountScan:
        return AmountScan(self.amounts)

    def process_batch(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> Tally:
        with transaction.atomic(), without_activity() if self.is_one_activity else nullcontext():
            return self.process(lines, index, dry_run=dry_run)

    @classmethod
    def record(cls, site: Site, created: int) -> None:
        if created and cls.is_one_activity:
            place = {"queue": cls.queue, "scope": str(site.pk)}
            Activity.objects.record(ActivityKind.IMPORT, "import", rows=created, **place)


def import_table(table: CsvTable[Tally], *, dry_run: bool) -> Iterator[Tally]:
    """Store a file, yielding a tally after each batch; a CsvError is raised before the first."""
    scan = table.scan()
    index = MemoryIndex(_keys(table, table.cells(), scan), lambda: _keys(table, table.cells(), table.scan()))
    mark = scan.result()
    created = 0
    try:
        for batch in batches(table.read(table.cells(), mark)):
            tally = table.process_batch(batch, index, dry_run=dry_run)
            created += tally.created
            yield tally
    finally:
        if not dry_run:
            table.record(table.site, created)


def _keys(table: CsvTable[Any], lines: Iterator[CsvLine], scan: AmountScan) -> Iterator[LineKey]:
    for batch in batches(lines):
        for line in batch:
            scan.add(line)
        yield from table.keys(list(table.read(batch, POINT)))


def rejected_line(line: CsvLine, errors: Sequence[FieldError]) -> RejectedLine:
    return RejectedLine(
        line,
        [
            RejectedField(line.number, error["field"], error["message"], shorten(line.shown(error["field"])))
            for error in errors
        ],
    )


def unreadable_line(line: CsvLine, fault: str) -> RejectedLine:
    return RejectedLine(line, [RejectedField(line.number, "", fault, shorten(line.text))])


def batches(lines: Iterator[CsvLine]) -> Iterator[list[CsvLine]]:
    while batch := list(islice(lines, BATCH)):
        yield batch
