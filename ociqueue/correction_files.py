"""Files of corrections: the export of failed rows, edited, or any CSV file with a column `id`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from ociqueue import dead_letters
from ociqueue.corrections import FIXED, Correction, CorrectionResult, replace_rows
from ociqueue.csv_formats import FileFormats
from ociqueue.csv_reader import REASON, CsvLine, RejectedField, RejectedLine, read_header, read_lines, shorten
from ociqueue.models import Site
from ociqueue.schemas.conversions import CONSENTS, FIELDS

# What a file may correct. Other columns of the export are ignored, except those that must stay as they are.
COLUMNS = ("id", *(name for name in FIELDS if name not in FIXED))
IGNORED = (REASON, *(name for name in dead_letters.FIELDS if name not in (*COLUMNS, *FIXED)))


@dataclass
class CorrectionTally:
    lines: int = 0
    created: int = 0
    unchanged: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)
    rejected_lines: int = 0

    @property
    def changes(self) -> int:
        return self.created

    def add(self, result: CorrectionResult, *, most: int) -> None:
        """Count a line, keeping at most so many rejected ones."""
        self.lines += 1
        self.created += bool(result.corrected)
        self.unchanged += result.is_unchanged
        if result.errors and result.correction.line:
            self.rejected_lines += 1
            if len(self.rejected) < most:
                self.rejected.append(_rejected(result.correction.line, result))

    def summary(self, *, dry_run: bool) -> str:
        if not self.lines:
            return _("Nothing to correct: the file has a header and no lines.")
        counts = {
            "replaced": self.created,
            "lines": self.lines,
            "unchanged": self.unchanged,
            "rejected": self.rejected_lines,
        }
        context = {name: number_format(count, force_grouping=True) for name, count in counts.items()}
        message = _("Corrected %(replaced)s of %(lines)s rows; %(unchanged)s unchanged, %(rejected)s rejected.")
        if dry_run:
            message = _("Would correct %(replaced)s of %(lines)s rows; %(unchanged)s unchanged, %(rejected)s rejected.")
            return f"{message % context} {_('This was a dry run: nothing was stored.')}"
        return message % context


def is_of_corrections(stream: IO[bytes]) -> bool:
    """Return whether a file names rows by their ids; the stream is at its beginning again."""
    names = read_header(stream)
    stream.seek(0)
    return "id" in names


def correct_from_file(site: Site, stream: IO[bytes], *, dry_run: bool, most: int) -> CorrectionTally:
    tally = CorrectionTally()
    for result in replace_rows(site, read_corrections(site, stream), dry_run=dry_run):
        tally.add(result, most=most)
    return tally


def read_corrections(site: Site, stream: IO[bytes]) -> Iterator[Correction]:
    """Read a CSV file with a column `id` and any columns to correct; an empty cell keeps the value.

    Times and amounts may be as a spreadsheet saved them.
    """

    def lines() -> Iterator[CsvLine]:
        return read_lines(stream, known=(*COLUMNS, *FIXED), required=["id"], ignored=IGNORED)

    formats = FileFormats(
        stream, lines(), site.zone, amounts=["conversionValue"], time="conversionTime", words=("consent", *CONSENTS)
    )
    for line in map(formats.read, lines()):
        changes = {name: cell for name, cell in line.cells.items() if name != "id"}
        name = line.cells.get("id", "")
        fault = line.fault or ("" if name else _("the id is missing"))
        yield Correction(name or f"line {line.number}", changes, fault, line)


def _rejected(line: CsvLine, result: CorrectionResult) -> RejectedLine:
    fields = [
        RejectedField(
            line.number, error["field"], error["message"], shorten(line.shown(error["field"] or "id") or line.text)
        )
        for error in result.errors
    ]
    return RejectedLine(line, fields)
