"""Reads CSV files of conversions, corrections and adjustments line by line, and describes rejected lines."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import IO, Any, Self

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from kilit.csv.text import (
    LONGEST_LINE,
    CsvError,
    FilePlace,
    Record,
    TableHeader,
    read_batch,
    read_table_header,
    split_cells,
)
from kilit.csv.writer import unescape_formula
from kilit.lock.text import CONTROL_CHARS
from kilit.masking import HIDDEN, IDENTIFIERS, hide, may_be_personal

# The column that says why a line was rejected: a corrected file may keep it.
REASON = "reason"
NO_ALIASES: Mapping[str, str] = {}
MOST_OF_VALUE = 60  # characters of a rejected value that are shown
MOST_OF_LINE = 1000  # characters of a line that could not be read
BATCH = 1000  # lines


@dataclass(frozen=True)
class CsvLine:
    """One line below the header: its cells by column, or its text and why it could not be read."""

    number: int
    cells: dict[str, str]
    fault: str = ""
    text: str = ""
    delimiter: str = ","
    is_personal: bool = False  # the file has a column of identifiers

    def shown(self, name: str) -> str:
        """Return a cell as it may be shown, and written to the file of rejected lines."""
        cell = self.cells.get(name, "")
        return hide(name, cell) if self.is_personal else cell


@dataclass(frozen=True)
class RejectedField:
    """An invalid field of a line; without a field, the line as a whole."""

    line: int
    field: str
    reason: str
    value: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.where}{self.reason}"

    @property
    def where(self) -> str:
        if not self.field:
            return ""
        return f"{self.field} “{self.value}”: " if self.value else f"{self.field}: "


@dataclass(frozen=True)
class RejectedLine:
    """A line to correct and import again, with everything that is wrong with it."""

    line: CsvLine
    fields: list[RejectedField]

    @property
    def reason(self) -> str:
        what = " ".join(
            f"{rejected.field}: {rejected.reason}" if rejected.field else rejected.reason for rejected in self.fields
        )
        return _("line %(number)s: %(reason)s") % {"number": self.line.number, "reason": what}


@dataclass
class FileTally(ABC):
    """What became of the lines of a file, or of a batch of them."""

    lines: int = 0
    created: int = 0
    duplicates: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)
    rejected_lines: int = 0

    def add(self, other: Self, *, most: int = 0) -> None:
        """Add the numbers, and lines until there are `most`."""
        for name, own in vars(self).items():
            more = getattr(other, name)
            setattr(self, name, own + (more[: max(0, most - len(own))] if isinstance(own, list) else more))

    @property
    def changes(self) -> int:
        return self.created

    @property
    def accounted(self) -> int:
        """Return of how many lines it is known what became of them."""
        return self.changes + self.duplicates + self.rejected_lines

    def counts(self) -> dict[str, int]:
        """Return the numbers alone; `type(self)(**numbers)` makes a tally of them again."""
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: int(number) for name, number in numbers.items() if isinstance(number, int)}

    @property
    def reported(self) -> list[RejectedLine]:
        return self.rejected

    @abstractmethod
    def summary(self, *, dry_run: bool) -> str:
        """Return what became of the lines, in sentences."""

    def formatted(self, **more: int) -> dict[str, str]:
        counts = {
            "stored": self.created,
            "lines": self.lines,
            "known": self.duplicates,
            "rejected": self.rejected_lines,
            **more,
        }
        return {name: number_format(count, force_grouping=True) for name, count in counts.items()}


def shorten(value: str) -> str:
    return Truncator(CONTROL_CHARS.sub("?", value)).chars(MOST_OF_VALUE)


class LineReader:
    """Reads the lines of a CSV table with known columns.

    Columns may have other names, `aliases`, written in small letters; cells are returned by the known ones.
    """

    def __init__(
        self,
        stream: IO[bytes],
        header: TableHeader,
        *,
        known: Sequence[str],
        required: Collection[str],
        one_of: Collection[str] = (),
        ignored: Collection[str] = (),
        aliases: Mapping[str, str] = NO_ALIASES,
    ) -> None:
        self.stream, self.header, self.names = stream, header, column_names(header, aliases)
        names = [name for name in self.names if name not in ignored]
        _check_header(names, allowed=known, required=required, one_of=one_of)
        self.left_out = set(self.names).intersection(ignored)

    def batch(self, place: FilePlace) -> tuple[list[CsvLine], FilePlace]:
        """Return the next lines from a place on, and where they end; at the end of the file that is the same place."""
        records = read_batch(self.stream, self.header, place, most=BATCH)
        delimiter = self.header.delimiter
        filled = (record for record in records if record.text.strip(f"{delimiter} \t\n"))
        lines = [_read_line(record, delimiter, self.names, self.left_out) for record in filled]
        return lines, records[-1].next if records else place

    def __iter__(self) -> Iterator[CsvLine]:
        place, end = None, self.header.below
        while place != end:
            lines, end = self.batch(place := end)
            yield from lines


def read_lines(stream: IO[bytes], **columns: Any) -> Iterator[CsvLine]:
    yield from LineReader(stream, read_table_header(stream), **columns)


def column_names(header: TableHeader, aliases: Mapping[str, str] = NO_ALIASES) -> list[str]:
    return [aliases.get(name.lower(), name) for name in map(_clean, header.cells)]


def _check_header(
    names: list[str], *, allowed: Sequence[str], required: Collection[str], one_of: Collection[str]
) -> None:
    if not set(names) & set(allowed):
        # A conversion in place of the header; it may be of a person, so it is not shown.
        raise CsvError(
            _("The first line does not name the columns; expected %(known)s.") % {"known": ", ".join(allowed)}
        )
    if unknown := [name or "(empty)" for name in names if name not in allowed]:
        columns = [HIDDEN if may_be_personal(name) else name for name in unknown]
        context = {"columns": ", ".join(columns)[:200], "known": ", ".join(allowed)}
        raise CsvError(_("Unknown columns: %(columns)s; expected %(known)s.") % context)
    if missing := [name for name in required if name not in names]:
        raise CsvError(_("Missing columns: %(columns)s.") % {"columns": ", ".join(missing)})
    if one_of and not set(one_of) & set(names):
        raise CsvError(_("A column %(columns)s is missing.") % {"columns": _(" or ").join(one_of)})
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise CsvError(_("Repeated columns: %(columns)s.") % {"columns": ", ".join(repeated)})


def _read_line(record: Record, delimiter: str, names: list[str], left_out: Collection[str]) -> CsvLine:
    number, text, _following = record
    cells: list[str] = []
    fault = ""
    if len(text) > LONGEST_LINE:
        fault = _("Longer than %(most)s characters.") % {"most": number_format(LONGEST_LINE, force_grouping=True)}
    else:
        try:
            cells = [_clean(cell) for cell in split_cells(text, delimiter)]
        except csv.Error:
            fault = _("A quote is misplaced, or not closed on this line.")
    if not fault and len(cells) != len(names):
        fault = _("%(cells)s cells, but the header has %(names)s.") % {"cells": len(cells), "names": len(names)}
    is_personal = not set(names).isdisjoint(IDENTIFIERS)
    if fault:
        display_text = HIDDEN if is_personal else CONTROL_CHARS.sub("?", text.strip()[:MOST_OF_LINE])
        return CsvLine(number, {}, fault, display_text, delimiter, is_personal)
    values = {name: cell for name, cell in zip(names, cells, strict=True) if cell and name not in left_out}
    return CsvLine(number, values, delimiter=delimiter, is_personal=is_personal)


def _clean(cell: str) -> str:
    return unescape_formula(cell.strip()).strip()
