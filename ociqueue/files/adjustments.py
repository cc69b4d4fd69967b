"""Files of adjustments: a CSV file with a column `kind`, or Google's own file of conversion adjustments.

A line is an adjustment as the API takes it. The same file imported again changes nothing: a line that states what the
newest adjustment of its conversion states is a duplicate. Of several lines for one conversion only the last could be
found again, so each of them needs a `sourceKey` of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.csv.index import LineKey, digest_of
from kilit.csv.reader import REASON, CsvLine, FileTally, column_names
from kilit.csv.text import TableHeader
from ociqueue.files.exports import ADJUSTMENT_FIELDS
from ociqueue.files.table import CsvTable, rejected_line, unreadable_line
from ociqueue.intake.adjustments import Entry, adjust, read_adjustment
from ociqueue.models import Conversion, Site
from ociqueue.models.import_job import LineIndex
from ociqueue.schemas.adjustments import FIELDS, NAMES, NewAdjustment
from ociqueue.states import ADJUSTMENTS, AdjustmentKind

GOOGLE_TIME = "Adjustment Time"
# Google's headings. Its files have the time of each adjustment; ours get the time at which they are imported.
GOOGLE_NAMES = {
    "order id": "orderId",
    "conversion name": "conversionName",
    "adjustment type": "kind",
    "adjusted value": "value",
    "adjusted value currency": "currency",
}
GOOGLE_KINDS = {"RETRACT": AdjustmentKind.RETRACTION, "RESTATE": AdjustmentKind.RESTATEMENT}


@dataclass
class AdjustmentTally(FileTally):
    ignores_time: bool = False

    def summary(self, *, dry_run: bool) -> str:
        if not self.lines:
            return _("Nothing to adjust: the file has a header and no lines.")
        message = _("Stored %(stored)s of %(lines)s adjustments; %(known)s duplicates, %(rejected)s rejected.")
        if dry_run:
            message = _("Would store %(stored)s of %(lines)s adjustments; %(known)s duplicates, %(rejected)s rejected.")
        sentences = [message % self.formatted()]
        if self.ignores_time:
            sentences.append(_("The column “Adjustment Time” is ignored: adjustments get the time of the import."))
        if dry_run:
            sentences.append(_("This was a dry run: nothing was stored."))
        return " ".join(sentences)


class AdjustmentTable(CsvTable):
    queue = ADJUSTMENTS.queue
    known = fields = FIELDS
    required = ("kind",)
    one_of = (*NAMES, "sourceKey")
    # Also the other columns of the console's export of failed adjustments.
    ignored = (REASON, GOOGLE_TIME, *(name for name in ADJUSTMENT_FIELDS if name not in FIELDS))
    aliases = GOOGLE_NAMES
    about = gettext_lazy("This is a file of adjustments.")
    submit = ngettext_lazy(
        "Adjust %(number)s conversion of %(site)s", "Adjust %(number)s conversions of %(site)s", "count"
    )
    tally = AdjustmentTally
    amounts = ("value",)

    def __init__(self, site: Site, header: TableHeader) -> None:
        super().__init__(site, header)
        self._ignores_time = GOOGLE_TIME in column_names(header)

    def keys(self, lines: Sequence[CsvLine]) -> list[LineKey]:
        """Return the conversions that lines name; the value 1 marks lines that have a key of their own."""
        items = [read_adjustment(_item(line) | ({"value": "1"} if "value" in line.cells else {})) for line in lines]
        entry = Entry(self.site, items, lock=False)
        keys = []
        for line, item in zip(lines, items, strict=True):
            original = entry.original_of(item) if isinstance(item, NewAdjustment) else None
            if isinstance(item, NewAdjustment) and isinstance(original, Conversion):
                keys.append(LineKey(line.number, digest_of([original.pk.hex]), int(bool(item.own_key))))
        return keys

    def process(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> AdjustmentTally:
        keys = self.keys(lines)
        named = index.find({key.digest for key in keys})
        repeated = {key.line for key in keys if not key.value and len(named.get(key.digest, ())) > 1}
        tally = AdjustmentTally(lines=len(lines), ignores_time=self._ignores_time)
        sent = []
        for line in lines:
            fault = line.fault or (_named_twice() if line.number in repeated else "")
            if fault:
                tally.rejected.append(unreadable_line(line, fault))
            else:
                sent.append(line)
        results = adjust(self.site, [_item(line) for line in sent], dry_run=dry_run)
        for line, result in zip(sent, results, strict=True):
            if errors := result.get("errors"):
                tally.rejected.append(rejected_line(line, errors))
            tally.created += result["status"] == "created"
            tally.duplicates += result["status"] == "duplicate"
        tally.rejected.sort(key=lambda rejected: rejected.line.number)
        tally.rejected_lines = len(tally.rejected)
        return tally


def _named_twice() -> str:
    return _(
        "Several lines adjust this conversion. A restatement states the whole value: keep one line, or give each a"
        " sourceKey of its own."
    )


def _item(line: CsvLine) -> dict[str, str]:
    kind = line.cells.get("kind", "").upper()
    return line.cells | {"kind": GOOGLE_KINDS.get(kind, kind)}
