"""Lines of a CSV file, whatever they are: how they are read, and how a batch of them is stored.

A time of day in no zone is one of the site's zone. A file that does not show how it writes amounts, or shows both ways,
is refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import ClassVar, NamedTuple

from django.db import transaction
from django_stubs_ext import StrOrPromise

from kilit.api.input_model import FieldError
from kilit.csv.index import LineKey
from kilit.csv.numbers import with_point
from kilit.csv.reader import NO_ALIASES, REASON, CsvLine, FileTally, RejectedField, RejectedLine, shorten
from kilit.csv.text import TableHeader
from kilit.csv.times import TimeFormat
from kilit.lock.audit import without_activity
from kilit.lock.models import Activity, ActivityKind
from ociqueue.models import Site
from ociqueue.models.import_job import LineIndex


class Columns(NamedTuple):
    """As `LineReader` takes them."""

    known: Sequence[str]
    required: Sequence[str]
    one_of: Sequence[str]


class CsvTable(ABC):
    """Lines of a site in one kind of file."""

    known: ClassVar[Sequence[str]]
    required: ClassVar[Sequence[str]] = ()
    one_of: ClassVar[Sequence[str]] = ()
    ignored: ClassVar[Sequence[str]] = (REASON,)
    aliases: ClassVar[Mapping[str, str]] = NO_ALIASES

    queue: ClassVar[str]  # that the lines are stored in
    fields: ClassVar[Sequence[str]]  # of the file of rejected lines
    about: ClassVar[StrOrPromise] = ""  # what the console says of such a file
    submit: ClassVar[StrOrPromise]  # the button that stores a %(number)s of lines of a %(site)s, by "count"
    tally: ClassVar[type[FileTally]]
    amounts: ClassVar[Sequence[str]] = ()
    time: ClassVar[str] = ""
    words: ClassVar[Sequence[str]] = ()  # columns in which case does not matter
    is_one_activity: ClassVar[bool] = True  # the activity shows the whole file once, not each batch

    def __init__(self, site: Site, header: TableHeader) -> None:
        self.site = site
        self._times = TimeFormat.of_file(header, site.zone)

    @classmethod
    def columns(cls, _site: Site | None) -> Columns:
        """Return the columns of a file of a site, or of several sites."""
        return Columns(cls.known, cls.required, cls.one_of)

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
    def process(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> FileTally:
        """Store lines, or say what would become of them. Needs a transaction."""

    def process_batch(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> FileTally:
        with transaction.atomic(), without_activity() if self.is_one_activity else nullcontext():
            return self.process(lines, index, dry_run=dry_run)

    @classmethod
    def record(cls, site: Site, created: int) -> None:
        if created and cls.is_one_activity:
            place = {"queue": cls.queue, "scope": str(site.pk)}
            Activity.objects.record(ActivityKind.IMPORT, "import", rows=created, **place)


def rejected_line(line: CsvLine, errors: Sequence[FieldError], *, subject: str = "") -> RejectedLine:
    """Describe what is wrong with a line; an error of no field shows the column `subject`."""
    shown = [shorten(line.shown(error["field"] or subject) or line.text) for error in errors]
    pairs = zip(errors, shown, strict=True)
    return RejectedLine(
        line, [RejectedField(line.number, error["field"], error["message"], value) for error, value in pairs]
    )


def unreadable_line(line: CsvLine, fault: str) -> RejectedLine:
    return RejectedLine(line, [RejectedField(line.number, "", fault, shorten(line.text))])
