"""Imports conversions from a CSV file: one conversion per line, with the same checks as the API."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy

from kilit.api.input_model import FieldError
from kilit.csv.index import MOST_LINES, LineKey
from kilit.csv.reader import (
    CsvLine,
    FileTally,
    RejectedField,
    RejectedLine,
    column_names,
    shorten,
)
from kilit.csv.text import CsvError, TableHeader
from kilit.masking import IDENTIFIERS
from ociqueue.files.keys import KEY, SUBJECT, LineKeys, line_key, require_key
from ociqueue.files.table import Columns, CsvTable, rejected_line, unreadable_line
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.import_job import LineIndex
from ociqueue.models.key import MADE_BY_IMPORT
from ociqueue.schemas.columns import format_amount
from ociqueue.schemas.conversions import CONSENTS, FIELDS, NOT_ACCEPTED, REQUIRED, fields_of
from ociqueue.states import CONVERSIONS, AdjustmentKind

# The headings of Google's template, in small letters. Its order id is your own id; ours is made of it.
GOOGLE_NAMES = {
    "google click id": "gclid",
    "wbraid": "wbraid",
    "gbraid": "gbraid",
    "conversion name": "conversionName",
    "conversion time": "conversionTime",
    "conversion value": "conversionValue",
    "conversion currency": "conversionCurrency",
    "order id": "sourceKey",
    "email": "email",
    "phone number": "phone",
    "ad user data": "consentAdUserData",
    "ad personalization": "consentAdPersonalization",
}


@dataclass
class ImportTally(FileTally):
    defaulted: int = 0
    corrected: int = 0
    # Duplicates with other data than what is stored.
    differing: list[RejectedLine] = field(default_factory=list)
    differing_lines: int = 0

    @property
    def changes(self) -> int:
        return self.created + self.corrected

    @property
    def reported(self) -> list[RejectedLine]:
        return sorted(self.rejected + self.differing, key=lambda reported: reported.line.number)

    def summary(self, *, dry_run: bool) -> str:
        if not self.lines:
            return _("Nothing to import: the file has a header and no lines.")
        context = self.formatted(number=self.defaulted, differing=self.differing_lines, corrected=self.corrected)
        message = _("Stored %(stored)s of %(lines)s lines; %(known)s duplicates, %(rejected)s rejected.")
        if dry_run:
            message = _("Would store %(stored)s of %(lines)s lines; %(known)s duplicates, %(rejected)s rejected.")
        sentences = [message % context]
        if self.defaulted:
            sentences.append(_("%(number)s have no currency and get the site's default.") % context)
        if self.corrected:
            corrected = ngettext(
                "%(corrected)s line corrects a conversion that failed or waits.",
                "%(corrected)s lines correct conversions that failed or wait.",
                self.corrected,
            )
            sentences.append(corrected % context)
        if self.differing_lines:
            differing = ngettext(
                "%(differing)s duplicate differs from what is stored.",
                "%(differing)s duplicates differ from what is stored.",
                self.differing_lines,
            )
            sentences.append(differing % context)
        if dry_run:
            sentences.append(_("This was a dry run: nothing was stored."))
        return " ".join(sentences)


class ConversionTable(CsvTable):
    queue = CONVERSIONS.queue
    known = fields = FIELDS
    aliases = GOOGLE_NAMES
    submit = ngettext_lazy("Import %(number)s line into %(site)s", "Import %(number)s lines into %(site)s", "count")
    tally = ImportTally
    amounts = ("conversionValue",)
    time = "conversionTime"
    words = ("eventSource", *CONSENTS)

    def __init__(self, site: Site, header: TableHeader) -> None:
        super().__init__(site, header)
        if not site.accepts_identifiers and not set(IDENTIFIERS).isdisjoint(column_names(header, GOOGLE_NAMES)):
            raise CsvError(NOT_ACCEPTED)
        self._planned = PlannedLines()

    @classmethod
    def columns(cls, site: Site | None) -> Columns:
        has_currency = site is None or site.default_currency  # else a line without one is rejected
        required = [name for name in REQUIRED if name != "conversionCurrency" or not has_currency]
        one_of = (*Conversion.CLICK_IDS, *IDENTIFIERS)
        if site is None:
            return Columns(cls.known, required, one_of)
        return Columns(fields_of(site), required, fields_of(site, one_of))

    def read(self, lines: Iterable[CsvLine], mark: str) -> Iterator[CsvLine]:
        return map(require_key, super().read(lines, mark))

    def keys(self, lines: Sequence[CsvLine]) -> list[LineKey]:
        return [key for key in map(line_key, lines) if key]

    def process(self, lines: Sequence[CsvLine], index: LineIndex, *, dry_run: bool) -> ImportTally:
        if dry_run:
            self._planned.look_at(lines, index)
        else:
            self._wait_for_others()
        site_keys, readable = LineKeys(self.site, index), [line for line in lines if not line.fault]
        keys = dict(zip([line.number for line in readable], site_keys.find(readable), strict=True))
        crowded = [replace(line, fault=_too_many()) for line in readable if not keys[line.number]]
        readable = [line for line in readable if keys[line.number]]
        items = [line.cells | {KEY: keys[line.number]} for line in readable]
        results = enqueue(self.site, items, dry_run=dry_run)
        stored = stored_contents(_read_id(result["id"]) for result in results if "differs" in result)
        tally = ImportTally(lines=len(lines))
        faulty = [*(line for line in lines if line.fault), *crowded]
        tally.rejected = [unreadable_line(line, line.fault) for line in faulty]
        for line, item, result in zip(readable, items, results, strict=True):
            if errors := result.get("errors"):
                tally.rejected.append(_rejected(line, item[KEY], errors, is_repeated=site_keys.is_repeated(line)))
                continue
            tally.defaulted += "defaulted" in result
            if result["status"] == "corrected":
                tally.corrected += 1
            elif result["status"] == "duplicate":
                tally.duplicates += 1
                if differs := result.get("differs"):
                    tally.differing.append(differing_line(line, differs, stored[_read_id(result["id"])]))
            elif dry_run:
                self._count_planned(tally, line, item)
            else:
                tally.created += 1
        tally.rejected.sort(key=lambda rejected: rejected.line.number)
        tally.rejected_lines, tally.differing_lines = len(tally.rejected), len(tally.differing)
        return tally

    def _wait_for_others(self) -> None:
        """Let one import of a site store its batch at a time, until the end of the transaction.

        The unique index decides between equal keys. But which key a line has depends on the rows that are stored: two
        files with the same conversion at different places could give it two keys.
        """
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('oci_import'), hashtext(%s))", [str(self.site.pk)])

    def _count_planned(self, tally: ImportTally, line: CsvLine, item: Mapping[str, str]) -> None:
        """Count a line whose key is not stored: an earlier line may have it, whose row a real run would find."""
        digest = hashlib.sha256(f"{item['conversionName']}\n{item[KEY]}".encode()).digest()[:8]
        content = content_of_line(self.site, item)
        earlier = self._planned.earlier(line, digest)
        is_made = item[KEY].startswith(MADE_BY_IMPORT)
        tally.created += earlier is None
        if earlier is None or not is_made:
            self._planned.keep(line, digest, content)
        if earlier and earlier != content and not is_made:
            tally.corrected += 1
        elif earlier is not None:
            tally.duplicates += 1
            if earlier and (differs := differing_names(content, earlier)):
                tally.differing.append(differing_line(line, differs, earlier))


class PlannedLines:
    """What a dry run would have stored. Only lines are kept whose key another line has, too."""

    def __init__(self) -> None:
        self._contents: dict[bytes, str] = {}
        self._first: int | None = None  # the line at which this dry run began, or went on
        self._others: dict[int, list[LineKey]] = {}

    def look_at(self, lines: Sequence[CsvLine], index: LineIndex) -> None:
        keys = {line.number: key for line in lines if (key := line_key(line))}
        lines_by_digest = index.find({key.digest for key in keys.values()})
        self._first = lines[0].number if self._first is None else self._first
        self._others = {
            number: [other for other in lines_by_digest.get(key.digest, ()) if other.line != number]
            for number, key in keys.items()
        }

    def earlier(self, line: CsvLine, digest: bytes) -> str | None:
        """Return the content of an earlier line with the same key; "" if it is not known."""
        if digest in self._contents:
            return self._contents[digest]
        before = (other.line < (self._first or 0) for other in self._others.get(line.number, ()))
        return "" if any(before) else None

    def keep(self, line: CsvLine, digest: bytes, content: str) -> None:
        if self._others.get(line.number):
            self._contents[digest] = content


def _rejected(line: CsvLine, key: str, errors: list[FieldError], *, is_repeated: bool) -> RejectedLine:
    if is_repeated and not any(error["field"] in SUBJECT for error in errors):
        # In the file of rejected lines it is alone, and could be taken for the other conversion of its click.
        line = replace(line, cells=line.cells | {KEY: key})
    return rejected_line(line, errors)


def _too_many() -> str:
    message = _("More than %(most)s lines have this click id. Give each of them a sourceKey.")
    return message % {"most": number_format(MOST_LINES, force_grouping=True)}


def _read_id(name: str) -> UUID:
    return UUID(name.removeprefix(PREFIX))


COMPARED = ("conversionTime", "conversionValue", "conversionCurrency")


def format_advice() -> str:
    return _(
        "The stored conversions stay as they are. Adjust the value of a conversion that was sent, correct one that "
        "failed, and give a second conversion of the same click a sourceKey."
    )


def content_of_line(site: Site, cells: Mapping[str, str]) -> str:
    """Return what is compared of a valid line, as one text: a dry run keeps many."""
    time = datetime.fromisoformat(cells["conversionTime"])
    currency = cells.get("conversionCurrency", site.default_currency).upper()
    return _join(time, Decimal(cells["conversionValue"]), currency)


def stored_contents(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return what is compared of stored rows, with the value of a restatement."""
    rows = {row.pk: row for row in Conversion.objects.filter(pk__any_of=list(ids))}
    contents = {pk: _join(row.conversion_time, row.value, row.currency) for pk, row in rows.items()}
    restated = Adjustment.objects.newest().filter(original__in=list(rows), kind=AdjustmentKind.RESTATEMENT)
    for pk, value, currency in restated.values_list("original_id", "value", "currency"):
        contents[pk] = _join(rows[pk].conversion_time, value or Decimal(), currency)
    return contents


def _join(time: datetime, value: Decimal, currency: str) -> str:
    return "\n".join((time.astimezone(UTC).isoformat(), format_amount(value, currency), currency))


def differing_names(own: str, stored: str) -> list[str]:
    pairs = zip(COMPARED, own.split("\n"), stored.split("\n"), strict=True)
    return [name for name, own_text, stored_text in pairs if own_text != stored_text]


def differing_line(line: CsvLine, names: Iterable[str], stored: str) -> RejectedLine:
    kept = dict(zip(COMPARED, stored.split("\n"), strict=True))
    fields = [
        RejectedField(line.number, name, _format_stored(line, name, kept.get(name, "")), shorten(line.shown(name)))
        for name in names
    ]
    return RejectedLine(line, fields)


def _format_stored(line: CsvLine, name: str, kept: str) -> str:
    if not kept:
        return _("Already imported with another value.")
    if name == "conversionTime":  # in the line's own zone, so that both can be compared
        zone = datetime.fromisoformat(line.cells[name]).tzinfo
        kept = datetime.fromisoformat(kept).astimezone(zone).isoformat()
    return _("Already imported with %(stored)s.") % {"stored": kept}
