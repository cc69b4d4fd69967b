"""Files of adjustments: a CSV file with a column `kind`, or Google's own file of conversion adjustments.

A line is an adjustment as the API takes it. The same file imported again changes nothing: a line that states what the
newest adjustment of its conversion states is a duplicate. Of several lines for one conversion only the last could be
found again, so each of them needs a `sourceKey` of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from kilit.api.messages import FieldError
from kilit.lock.audit import without_activity
from kilit.lock.models import Activity, ActivityKind
from ociqueue.adjust import Entry, adjust, read_adjustment
from ociqueue.csv_formats import FileFormats
from ociqueue.csv_reader import (
    REASON,
    CsvLine,
    FileTally,
    RejectedField,
    RejectedLine,
    read_header,
    read_lines,
    shorten,
)
from ociqueue.models import Conversion, Site
from ociqueue.schemas.adjustments import FIELDS, NAMES, NewAdjustment
from ociqueue.states import ADJUSTMENTS, AdjustmentKind

BATCH = 1000
GOOGLE_TIME = "Adjustment Time"
# Google's headings. Its files have the time of each adjustment; ours get the time at which they are imported.
GOOGLE_NAMES = {
    "order id": "orderId",
    "conversion name": "conversionName",
    "adjustment type": "kind",
    "adjusted value": "value",
    "adjusted value currency": "currency",
}
# The other columns of the console's export of failed adjustments (ociqueue.dead_letters).
EXPORTED = (
    *("adjustmentId", "adjustmentKey", "conversionOrderId", "siteId", "adjustedAt", "attemptCount"),
    *("errorCode", "errorCategory", "errorMessage", "createdAt", "failedAt"),
)
GOOGLE_KINDS = {"RETRACT": AdjustmentKind.RETRACTION, "RESTATE": AdjustmentKind.RESTATEMENT}


@dataclass
class AdjustmentTally(FileTally):
    ignores_time: bool = False

    def add(self, other: "AdjustmentTally", *, most: int = 0) -> None:
        super().add(other, most=most)
        self.ignores_time |= other.ignores_time

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


def is_of_adjustments(stream: IO[bytes]) -> bool:
    """Return whether the lines of a file are adjustments; the stream is at its beginning again."""
    names = read_header(stream)
    stream.seek(0)
    return "kind" in names or "Adjustment Type" in names


def import_adjustments(site: Site, stream: IO[bytes], *, dry_run: bool = False) -> Iterator[AdjustmentTally]:
    """Store a file in batches, yielding a tally after each; a CsvError is raised before the first.

    The file is read three times, so the stream must be able to seek.
    """
    ignores_time = GOOGLE_TIME in read_header(stream)

    def cells() -> Iterator[CsvLine]:
        known, ignored = FIELDS, [REASON, GOOGLE_TIME, *EXPORTED]
        return read_lines(
            stream, known=known, required=["kind"], one_of=[*NAMES, "sourceKey"], ignored=ignored, aliases=GOOGLE_NAMES
        )

    formats = FileFormats(stream, cells(), site.zone, amounts=["value"])

    def lines() -> Iterator[CsvLine]:
        return map(formats.read, cells())

    repeated = _find_repeated(site, lines())
    waiting = lines()
    created = 0
    try:
        while batch := list(islice(waiting, BATCH)):
            with transaction.atomic(), without_activity():  # it shows the whole file once
                tally = _import(site, batch, repeated, dry_run=dry_run)
            tally.ignores_time = ignores_time
            created += tally.created
            yield tally
    finally:
        if created and not dry_run:
            about = {"queue": ADJUSTMENTS.queue, "scope": str(site.pk)}
            Activity.objects.record(ActivityKind.IMPORT, "import", rows=created, **about)


def _find_repeated(site: Site, lines: Iterator[CsvLine]) -> set[int]:
    """Return the numbers of lines without a key of their own whose conversion another line names too."""
    first: dict[UUID, int] = {}
    repeated: set[int] = set()
    keyed: set[int] = set()
    while batch := list(islice(lines, BATCH)):
        given = [read_adjustment(_item(line)) for line in batch]
        entry = Entry(site, given, lock=False)
        for line, item in zip(batch, given, strict=True):
            original = entry.original_of(item) if isinstance(item, NewAdjustment) else None
            if isinstance(item, NewAdjustment) and isinstance(original, Conversion):
                keyed |= {line.number} if item.own_key else set()
                number = first.setdefault(original.pk, line.number)
                repeated |= {number, line.number} if number != line.number else set()
    return repeated - keyed


def _import(site: Site, lines: Sequence[CsvLine], repeated: set[int], *, dry_run: bool) -> AdjustmentTally:
    tally = AdjustmentTally(lines=len(lines))
    sent = []
    for line in lines:
        fault = line.fault or (_named_twice() if line.number in repeated else "")
        if fault:
            tally.rejected.append(RejectedLine(line, [RejectedField(line.number, "", fault, shorten(line.text))]))
        else:
            sent.append(line)
    for line, result in zip(sent, adjust(site, [_item(line) for line in sent], dry_run=dry_run), strict=True):
        if errors := result.get("errors"):
            tally.rejected.append(RejectedLine(line, [_invalid(line, error) for error in errors]))
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


def _invalid(line: CsvLine, error: FieldError) -> RejectedField:
    return RejectedField(line.number, error["field"], error["message"], shorten(line.shown(error["field"])))
