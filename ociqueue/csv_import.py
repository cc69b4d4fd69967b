"""Conversions from a CSV file: a line is a conversion, checked exactly as the API checks one."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from ociqueue.enqueue import enqueue
from ociqueue.entry import FIELDS, REQUIRED
from ociqueue.models import Conversion, Site

BATCH = 1000
# Every field has a bound, so a longer line is none of ours, and no file can make us hold more than this.
LONGEST_LINE = 16_384
# What is left of bytes that are not UTF-8, after reading with `surrogateescape`.
NOT_UTF_8 = re.compile(r"[\udc80-\udcff]")
SAVE_AS_UTF_8 = "save the file as “CSV UTF-8”"


class Unreadable(ValueError):  # noqa: N818 - it is the answer about the file
    """Why a file cannot be read at all, in words for whoever chose it."""


@dataclass(frozen=True)
class Line:
    """One line below the header: its cells by column, or why it has none."""

    number: int
    cells: dict[str, str]
    fault: str = ""


@dataclass(frozen=True)
class Refused:
    """A field of a line that cannot be stored; no field means the line as a whole."""

    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: " + (f"{self.field}: {self.reason}" if self.field else self.reason)


@dataclass
class Tally:
    """What became of the lines so far."""

    lines: int = 0
    created: int = 0
    duplicates: int = 0
    defaulted: int = 0
    refused_lines: int = 0
    refused: list[Refused] = field(default_factory=list)

    def add(self, other: "Tally", *, most: int = 0) -> None:
        """Count another batch in, keeping at most so many refusals to show."""
        for name in ("lines", "created", "duplicates", "defaulted", "refused_lines"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused += other.refused[: max(0, most - len(self.refused))]

    def sentence(self, *, dry_run: bool) -> str:
        """Tell it in words; a currency is never assumed silently."""
        if not self.lines:
            return _("Nothing to import: the file has a header and no lines.")
        words = _("Stored %(stored)s of %(lines)s lines; %(known)s known already, %(refused)s refused.")
        if dry_run:
            words = _("Would store %(stored)s of %(lines)s lines; %(known)s known already, %(refused)s refused.")
        counts = {
            "stored": self.created,
            "lines": self.lines,
            "known": self.duplicates,
            "refused": self.refused_lines,
            "number": self.defaulted,
        }
        spoken = {name: number_format(count, force_grouping=True) for name, count in counts.items()}
        told = [words % spoken]
        if self.defaulted:
            told.append(_("%(number)s came without a currency and take the site's.") % spoken)
        if dry_run:
            told.append(_("Nothing was stored: this was a dry run."))
        return " ".join(told)


def import_file(site: Site, stream: IO[bytes], *, dry_run: bool = False) -> Iterator[Tally]:
    """Store a file batch by batch; each batch is told once it is stored. Unreadable comes before the first."""
    required = [name for name in REQUIRED if name != "conversionCurrency" or not site.default_currency]
    lines = read_lines(stream, known=FIELDS, required=required, one_of=Conversion.CLICK_IDS)
    seen: set[bytes] | None = set() if dry_run else None
    while batch := list(islice(lines, BATCH)):
        yield _import(site, batch, seen)


def _import(site: Site, lines: list[Line], seen: set[bytes] | None) -> Tally:
    """Store one batch; with `seen`, only look."""
    told = Tally(lines=len(lines))
    told.refused = [Refused(line.number, "", line.fault) for line in lines if line.fault]
    good = [line for line in lines if not line.fault]
    items = [{"sourceKey": derived_key(line.cells), **line.cells} for line in good]
    report = enqueue(site, items, dry_run=seen is not None)
    for line, item, result in zip(good, items, report.results, strict=True):
        errors = result.get("errors", [])
        told.refused += [Refused(line.number, error["field"], error["message"]) for error in errors]
        # A look stores nothing, so a second line with the same key has to be noticed here.
        repeated = seen is not None and result["status"] == "created" and not _is_new(item, seen)
        told.created += result["status"] == "created" and not repeated
        told.duplicates += result["status"] == "duplicate" or repeated
        told.defaulted += "defaulted" in result
    told.refused.sort(key=lambda refused: refused.line)
    told.refused_lines = len({refused.line for refused in told.refused})
    return told


def _is_new(item: dict[str, str], seen: set[bytes]) -> bool:
    key = hashlib.sha256(f"{item['conversionName']}\n{item['sourceKey']}".encode()).digest()[:8]
    if key in seen:
        return False
    seen.add(key)
    return True


def derived_key(cells: dict[str, str]) -> str:
    """Return the source key of a line that has none: made of its content, so that a second run finds the first."""
    time = cells.get("conversionTime", "")
    with suppress(ValueError, OverflowError):  # the entry check says what is wrong with it
        time = datetime.fromisoformat(time).astimezone(UTC).isoformat()
    parts = (cells.get("conversionName", ""), *(cells.get(name, "") for name in Conversion.CLICK_IDS), time)
    return "csv:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def read_lines(
    stream: IO[bytes], *, known: Iterable[str], required: Iterable[str], one_of: Iterable[str] = ()
) -> Iterator[Line]:
    """Read a table whose header names known columns; comma or semicolon, with or without a byte order mark.

    No cell of ours holds a line break, so each line is read by itself: a quote that is never closed costs one line.
    """
    numbered = enumerate(_physical_lines(stream), start=1)
    header = next(((number, text) for number, text in numbered if text.strip()), None)
    if header is None:
        raise Unreadable(_("The file is empty."))
    delimiter, names = _read_header(header[1])
    _refuse_header(names, known=tuple(known), required=required, one_of=tuple(one_of))
    for number, text in numbered:
        if text.strip(f"{delimiter} \t\n"):
            yield _read_line(number, text, delimiter, names)


def _physical_lines(stream: IO[bytes]) -> Iterator[str]:
    """Give each line; of one that is too long its beginning, which is enough to refuse it."""
    # Bytes that are not UTF-8 come through as surrogates, so that only their own line is refused.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape")
    try:
        while line := text.readline(LONGEST_LINE + 1):
            yield line
            while len(line) > LONGEST_LINE and not line.endswith("\n"):
                line = text.readline(LONGEST_LINE + 1)
    finally:
        # Closing the stream is for whoever opened it, and may have happened already.
        with suppress(ValueError):
            text.detach()


def _read_header(text: str) -> tuple[str, list[str]]:
    if "\x00" in text or len(text) > LONGEST_LINE:
        raise Unreadable(_("This is not a text file with a header line; save the file as “CSV UTF-8”."))
    if NOT_UTF_8.search(text):
        raise Unreadable(_("The file is not UTF-8; save the file as “CSV UTF-8”."))
    delimiter = ";" if text.count(";") > text.count(",") else ","
    try:
        return delimiter, _cells(text, delimiter)
    except csv.Error:
        raise Unreadable(_("A quote in the header is never closed.")) from None


def _refuse_header(names: list[str], *, known: tuple[str, ...], required: Iterable[str], one_of: Any) -> None:
    if unknown := [name or "(empty)" for name in names if name not in known]:
        told = {"columns": ", ".join(unknown)[:200], "known": ", ".join(known)}
        raise Unreadable(_("Unknown columns: %(columns)s; known are %(known)s.") % told)
    if missing := [name for name in required if name not in names]:
        raise Unreadable(_("Missing columns: %(columns)s.") % {"columns": ", ".join(missing)})
    if one_of and not set(one_of) & set(names):
        raise Unreadable(_("A column %(columns)s is missing.") % {"columns": _(" or ").join(one_of)})
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise Unreadable(_("Columns named twice: %(columns)s.") % {"columns": ", ".join(repeated)})


def _read_line(number: int, text: str, delimiter: str, names: list[str]) -> Line:
    if len(text) > LONGEST_LINE:
        return Line(number, {}, f"Longer than {LONGEST_LINE:,} characters.")
    if NOT_UTF_8.search(text):
        return Line(number, {}, f"Not UTF-8; {SAVE_AS_UTF_8}.")
    try:
        cells = _cells(text, delimiter)
    except csv.Error:
        return Line(number, {}, "A quote is out of place, or not closed on this line.")
    if len(cells) != len(names):
        return Line(number, {}, f"{len(cells)} cells, but the header has {len(names)}.")
    return Line(number, {name: cell for name, cell in zip(names, cells, strict=True) if cell})


def _cells(text: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, strict=True))]
