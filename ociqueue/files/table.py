"""A CSV file of a site, whatever its lines are: how it is read, and stored batch by batch.

1. All lines are read once: they show how amounts are written, and which of them name the same thing.
2. They are read again, and each batch is stored, or checked, in a transaction of its own.

Times and amounts may be as spreadsheets and Google's templates write them. A time of day in no zone is one of the
site's zone. `12,50` shows a decimal comma, so `1.250` in the same file is a thousand. A file that does not show how it
writes amounts, or shows both ways, is refused. An import in the background (`ociqueue.files.import_run`) does the same
and remembers the place it has reached.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import IO, Any, ClassVar, Generic, Self, TypeVar
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext as _

from kilit.api.input_model import FieldError
from kilit.csv.index import LineIndex, LineKey, MemoryIndex
from kilit.csv.reader import CsvLine, FileTally, RejectedField, RejectedLine, shorten
from kilit.csv.text import START, CsvError, FilePlace, TableHeader, find_encoding, open_table
from kilit.lock.audit import without_activity
from kilit.lock.models import Activity, ActivityKind
from ociqueue.models import Site

COMMA, POINT = ",", "."
GROUPED = re.compile(
    r"[+-]?[1-9][0-9]{0,2}(?P<group>[.,\xa0 ])[0-9]{3}((?P=group)[0-9]{3})*((?!(?P=group))[.,][0-9]+)?"
)
PLAIN = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
AMBIGUOUS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")

DATE = r"(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})"
CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2}))?"
PARTS = ("year", "month", "day", "hour", "minute", "second")
DOTTED = re.compile(rf"{DATE}[ T]+{CLOCK}")
SLASHED = re.compile(r"[0-9]{1,4}/[0-9]{1,2}/[0-9]{1,4}\b.*")
GOOGLE_TIMES = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%b %d,%Y %I:%M:%S %p")
WITH_ZONE = re.compile(r"(?P<time>.*[0-9APMapm]) ?(?P<zone>[A-Z][A-Za-z_]+(/[A-Za-z_+0-9-]+)+|[+-][0-9]{2}:?[0-9]{2})")
GOOGLE_HEADING = "conversion time"
GOOGLE_ZONE = re.compile(r"TimeZone=(?P<zone>[^;,\s]+)", re.IGNORECASE)


@dataclass
class AmountScan:
    """Finds out how a file writes amounts, line by line: what it knows can be stored in between."""

    columns: Sequence[str]
    shown: dict[str, int] = field(default_factory=dict)  # the first line with each decimal mark
    doubtful: tuple[int, str] | None = None

    def add(self, line: CsvLine) -> None:
        for text in filter(None, map(line.cells.get, self.columns)):
            if mark := decimal_mark(text):
                self.shown.setdefault(mark, line.number)
            elif self.doubtful is None and _is_doubtful(text, line.delimiter):
                self.doubtful = line.number, text

    def result(self) -> str:
        """Return the decimal mark of the file; CsvError if it shows both, or if an amount could be read either way."""
        if len(self.shown) > 1:
            message = _("Line %(comma)s has a decimal comma and line %(point)s a decimal point; use one of them.")
            raise CsvError(message % {"comma": self.shown[COMMA], "point": self.shown[POINT]})
        if self.doubtful and not self.shown:
            number, text = self.doubtful
            message = _("Line %(number)s: %(text)s could be a thousand or a fraction. Write amounts with two decimals.")
            raise CsvError(message % {"number": number, "text": text})
        return next(iter(self.shown), POINT)


class AmountFormat:
    def __init__(self, columns: Sequence[str], mark: str) -> None:
        self.columns, self._mark = columns, mark

    def read(self, text: str) -> str:
        """Return an amount with a decimal point; what is no amount stays, and is rejected later."""
        text = text.strip()
        grouped = GROUPED.fullmatch(text)
        if grouped and grouped["group"] != self._mark:
            text = text.replace(grouped["group"], "")
        return text.replace(COMMA, POINT) if self._mark == COMMA and PLAIN.fullmatch(text) else text


def decimal_mark(text: str) -> str:
    """Return the decimal mark that an amount shows, or "" if it could be either."""
    if AMBIGUOUS.fullmatch(text):
        return ""
    if grouped := GROUPED.fullmatch(text):
        if grouped[3]:
            return str(grouped[3][0])
        return {COMMA: POINT, POINT: COMMA}.get(grouped["group"], "") if text.count(grouped["group"]) > 1 else ""
    plain = PLAIN.fullmatch(text)
    return str(plain[1][0]) if plain and plain[1] else ""


def _is_doubtful(text: str, delimiter: str) -> bool:
    """Return whether an amount could be a thousand.

    A program writes commas between cells and a point in numbers; a Turkish spreadsheet does neither.
    """
    return bool(AMBIGUOUS.fullmatch(text)) and (COMMA in text or delimiter != COMMA)


@dataclass(frozen=True)
class TimeFormat:
    """How a file writes times: those without a zone are of this one."""

    zone: tzinfo
    is_google: bool = False  # Google's templates write the month first

    @classmethod
    def of_file(cls, header: TableHeader, zone: tzinfo) -> Self:
        """Return them for a file; Google's templates may name a zone above the header."""
        is_google = bool(header.parameters) or GOOGLE_HEADING in map(str.lower, header.cells)
        if match := GOOGLE_ZONE.search(header.parameters):
            named = read_zone(match["zone"])
            if named is None:
                message = _("The file's time zone “%(zone)s” is not known; write +0300 or Europe/Istanbul.")
                raise CsvError(message % {"zone": match["zone"][:60]})
            zone = named
        return cls(zone, is_google=is_google)

    def read(self, text: str) -> str:
        """Return a time in ISO 8601 with its offset; what is no time stays, and is rejected later."""
        zone = self.zone
        match = WITH_ZONE.fullmatch(text) if self.is_google else None
        if match and (named := read_zone(match["zone"])):
            text, zone = match["time"], named
        time = self._parse(text)
        return text if time is None or time.tzinfo else in_zone(time, zone).isoformat()

    def _parse(self, text: str) -> datetime | None:
        if dotted := DOTTED.fullmatch(text):
            with suppress(ValueError):
                return datetime(*(int(dotted[name] or 0) for name in PARTS))  # type: ignore[arg-type]  # noqa: DTZ001
            return None
        if self.is_google:
            for form in GOOGLE_TIMES:
                with suppress(ValueError):
                    return datetime.strptime(text, form)  # noqa: DTZ007
        elif SLASHED.fullmatch(text):
            raise ValueError(_("03/04/2026 could be in March or in April; write 2026-04-03 13:45 or 03.04.2026 13:45."))
        if ":" in text:  # a day alone is not a time
            with suppress(ValueError):
                return datetime.fromisoformat(text)
        return None


def in_zone(time: datetime, zone: tzinfo) -> datetime:
    """Return a local time in its zone; ValueError if there are two such moments, or none."""
    earlier, later = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if earlier.utcoffset() != later.utcoffset():
        raise ValueError(_("The clocks change at this time, so it is not certain; write the offset, such as +03:00."))
    return earlier


def read_zone(text: str) -> tzinfo | None:
    with suppress(ValueError):
        return datetime.strptime(text, "%z").tzinfo
    with suppress(KeyError, ValueError, OSError):
        return ZoneInfo(text)
    return None


class FileFormats:
    def __init__(self, times: TimeFormat, amounts: AmountFormat, *, time: str = "", words: Sequence[str] = ()) -> None:
        self._times, self._amounts = times, amounts
        self._time, self._words = time, words

    def read(self, line: CsvLine) -> CsvLine:
        """Return a line with its time, its amounts and its words as the API takes them."""
        cells = dict(line.cells)
        try:
            if self._time in cells:
                cells[self._time] = self._times.read(cells[self._time])
        except ValueError as error:
            return replace(line, fault=f"{self._time}: {error}")
        cells |= {name: cells[name].upper() for name in self._words if name in cells}
        cells |= {name: self._amounts.read(cells[name]) for name in self._amounts.columns if name in cells}
        return replace(line, cells=cells)


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
        """Return lines with times and amounts as the API takes them, given the file's decimal mark."""
        amounts = AmountFormat(self.amounts, mark)
        return map(FileFormats(self._times, amounts, time=self.time, words=self.words).read, lines)

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
