"""Files of corrections: the export of failed rows, edited, or any CSV file with a column `id`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.csv.index import LineKey, digest_of
from kilit.csv.numbers import AmountScan
from kilit.csv.reader import REASON, CsvLine, FileTally
from kilit.csv.text import read_table_header
from ociqueue.files import exports as dead_letters
from ociqueue.files.site_tables import SiteTables
from ociqueue.files.table import CsvTable, rejected_line
from ociqueue.intake.corrections import FIXED, Correction, CorrectionResult, read_id, replace_rows
from ociqueue.models import Site
from ociqueue.models.import_job import LineIndex
from ociqueue.schemas.conversions import CONSENTS, FIELDS
from ociqueue.states import CONVERSIONS

# What a file may correct. Other columns of the export are ignored, except those that must stay as they are.
COLUMNS = ("id", *(name for name in FIELDS if name not in FIXED))
IGNORED = (REASON, *(name for name in dead_letters.FIELDS if name not in (*COLUMNS, *FIXED)))


@dataclass
class CorrectionTally(FileTally):
    unchanged: int = 0

    @property
    def accounted(self) -> int:
        return super().accounted + self.unchanged

    def count(self, result: CorrectionResult) -> None:
        self.lines += 1
        self.created += bool(result.corrected)
        self.unchanged += result.is_unchanged
        if result.errors and result.correction.line:
            self.rejected_lines += 1
            self.rejected.append(rejected_line(result.correction.line, result.errors, subject="id"))

    def summary(self, *, dry_run: bool) -> str:
        if not self.lines:
            return _("Nothing to correct: the file has a header and no lines.")
        context = self.formatted(replaced=self.created, unchanged=self.unchanged)
        message = _("Corrected %(replaced)s of %(lines)s rows; %(unchanged)s unchanged, %(rejected)s rejected.")
        if dry_run:
            message = _("Would correct %(replaced)s of %(lines)s rows; %(unchanged)s unchanged, %(rejected)s rejected.")
            return f"{message % context} {_('This was a dry run: nothing was stored.')}"
        return message % context


class CorrectionTable(CsvTable):
    """A CSV file with a column `id` and any columns to correct; an empty cell keeps the value."""

    queue = CONVERSIONS.queue
    fields = COLUMNS
    known = (*COLUMNS, *FIXED)
    required = ("id",)
    ignored = IGNORED
    about = gettext_lazy("The file has a column “id”: its lines are corrections of failed conversions.")
    submit = ngettext_lazy(
        "Correct and resend %(number)s row of %(site)s", "Correct and resend %(number)s rows of %(site)s", "count"
    )
    tally = CorrectionTally
    amounts = ("conversionValue",)
    time = "conversionTime"
    words = ("consent", "eventSource", *CONSENTS)
    is_one_activity = False  # copies are shown with their reason

    def keys(self, lines: Sequence[CsvLine]) -> list[LineKey]:
        ids = ((line.number, read_id(line.cells.get("id", ""))) for line in lines)
        return [LineKey(number, digest_of([pk.hex])) for number, pk in ids if pk]

    def process(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> CorrectionTally:
        keys = self.keys(lines)
        first = {digest: same_keys[0].line for digest, same_keys in index.find({key.digest for key in keys}).items()}
        repeated = {key.line for key in keys if first.get(key.digest, key.line) < key.line}
        corrections = [_correction(line, is_repeated=line.number in repeated) for line in lines]
        tally = CorrectionTally()
        for result in replace_rows(self.site, corrections, dry_run=dry_run):
            tally.count(result)
        return tally


def read_corrections(site: Site, stream: IO[bytes]) -> Iterator[Correction]:
    """Read a file; times and amounts may be as a spreadsheet saved them."""
    tables = SiteTables(CorrectionTable, site, read_table_header(stream))
    lines, scan = tables.reader(stream), AmountScan(CorrectionTable.amounts)
    for line in lines:
        scan.add(line)
    return map(_correction, tables.of(site).read(lines, scan.result()))


def _correction(line: CsvLine, *, is_repeated: bool = False) -> Correction:
    changes = {name: cell for name, cell in line.cells.items() if name != "id"}
    name = line.cells.get("id", "")
    fault = line.fault or ("" if name else _("the id is missing")) or (_("named twice") if is_repeated else "")
    return Correction(name or f"line {line.number}", changes, fault, line)
