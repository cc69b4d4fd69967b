"""Imports conversions from a CSV file: one conversion per line, with the same checks as the API."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.api.messages import FieldError
from kilit.lock.audit import without_activity
from kilit.lock.models import Activity, ActivityKind
from ociqueue import identifiers
from ociqueue.csv_differences import content_of_line, differing_line, differing_names, stored_contents
from ociqueue.csv_formats import FileFormats
from ociqueue.csv_keys import KEY, SUBJECT, LineKeys, require_key
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
from ociqueue.csv_text import CsvError
from ociqueue.enqueue import enqueue
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.key import MADE_BY_IMPORT
from ociqueue.schemas.conversions import CONSENTS, NOT_ACCEPTED, REQUIRED, fields_of
from ociqueue.states import CONVERSIONS

BATCH = 1000
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

    def add(self, other: "ImportTally", *, most: int = 0) -> None:
        super().add(other, most=most)
        self.defaulted += other.defaulted
        self.corrected += other.corrected
        self.differing_lines += other.differing_lines
        self.differing += other.differing[: max(0, most - len(self.differing))]

    @property
    def changes(self) -> int:
        """How many conversions the file stores or corrects."""
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


def import_file(site: Site, stream: IO[bytes], *, dry_run: bool = False) -> Iterator[ImportTally]:
    """Store a file in batches, yielding a tally after each; a CsvError is raised before the first.

    The file is read three times, so the stream must be able to seek: see `ociqueue.csv_keys`.
    """
    if not site.accepts_identifiers and not set(identifiers.NAMES).isdisjoint(read_header(stream, GOOGLE_NAMES)):
        raise CsvError(NOT_ACCEPTED)
    one_of = fields_of(site, (*Conversion.CLICK_IDS, *identifiers.NAMES))
    required = [name for name in REQUIRED if name != "conversionCurrency" or not site.default_currency]

    def cells() -> Iterator[CsvLine]:
        return read_lines(
            stream, known=fields_of(site), required=required, one_of=one_of, ignored=[REASON], aliases=GOOGLE_NAMES
        )

    formats = FileFormats(
        stream, cells(), site.zone, amounts=["conversionValue"], time="conversionTime", words=CONSENTS
    )

    def lines() -> Iterator[CsvLine]:
        return map(require_key, map(formats.read, cells()))

    batches = FileImport(site, LineKeys(site, lines()), dry_run=dry_run)
    waiting = lines()
    created = 0
    try:
        while batch := list(islice(waiting, BATCH)):
            with transaction.atomic(), without_activity():  # it shows the whole file once
                tally = batches.store(batch)
            created += tally.created
            yield tally
    finally:
        if created and not dry_run:
            about = {"queue": CONVERSIONS.queue, "scope": str(site.pk)}
            Activity.objects.record(ActivityKind.IMPORT, "import", rows=created, **about)


class FileImport:
    """Stores the lines of one file in batches, or says what it would do."""

    def __init__(self, site: Site, keys: LineKeys, *, dry_run: bool) -> None:
        self._site = site
        self._keys = keys
        self._dry_run = dry_run
        # A dry run stores nothing, so a second line with the same key has to be noticed here.
        self._planned: dict[bytes, str] = {}

    def store(self, lines: Sequence[CsvLine]) -> ImportTally:
        readable = [line for line in lines if not line.fault]
        if not self._dry_run:
            self._wait_for_others()
        items = [line.cells | {KEY: key} for line, key in zip(readable, self._keys.find(readable), strict=True)]
        results = enqueue(self._site, items, dry_run=self._dry_run)
        stored = stored_contents(_read_id(result["id"]) for result in results if "differs" in result)
        tally = ImportTally(lines=len(lines))
        tally.rejected = [RejectedLine(line, [_unreadable(line)]) for line in lines if line.fault]
        for line, item, result in zip(readable, items, results, strict=True):
            if errors := result.get("errors"):
                tally.rejected.append(self._rejected(line, item[KEY], errors))
                continue
            tally.defaulted += "defaulted" in result
            if result["status"] == "corrected":
                tally.corrected += 1
            elif result["status"] == "duplicate":
                tally.duplicates += 1
                if differs := result.get("differs"):
                    tally.differing.append(differing_line(line, differs, stored[_read_id(result["id"])]))
            else:
                self._count_new(tally, line, item)
        tally.rejected.sort(key=lambda rejected: rejected.line.number)
        tally.rejected_lines, tally.differing_lines = len(tally.rejected), len(tally.differing)
        return tally

    def _wait_for_others(self) -> None:
        """Let one import of a site store its batch at a time, until the end of the transaction.

        The unique index decides between equal keys. But which key a line has depends on the rows that are stored: two
        files with the same conversion at different places could give it two keys.
        """
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('oci_import'), hashtext(%s))", [str(self._site.pk)])

    def _count_new(self, tally: ImportTally, line: CsvLine, item: Mapping[str, str]) -> None:
        """Count a line whose key is not stored. In a dry run an earlier line may have it; a real one finds its row."""
        if not self._dry_run:
            tally.created += 1
            return
        digest = hashlib.sha256(f"{item['conversionName']}\n{item[KEY]}".encode()).digest()[:8]
        content = content_of_line(self._site, item)
        earlier = self._planned.get(digest, "")
        is_made = item[KEY].startswith(MADE_BY_IMPORT)
        tally.created += not earlier
        if not earlier or not is_made:
            self._planned[digest] = content
        if earlier and earlier != content and not is_made:
            tally.corrected += 1
        elif earlier:
            tally.duplicates += 1
            if differs := differing_names(content, earlier):
                tally.differing.append(differing_line(line, differs, earlier))

    def _rejected(self, line: CsvLine, key: str, errors: list[FieldError]) -> RejectedLine:
        fields = [
            RejectedField(line.number, error["field"], error["message"], shorten(line.shown(error["field"])))
            for error in errors
        ]
        is_known = not any(error["field"] in SUBJECT for error in errors)
        if is_known and self._keys.is_repeated(line):
            # In the file of rejected lines it is alone, and could be taken for the other conversion of its click.
            line = replace(line, cells=line.cells | {KEY: key})
        return RejectedLine(line, fields)


def _unreadable(line: CsvLine) -> RejectedField:
    return RejectedField(line.number, "", line.fault, shorten(line.text))


def _read_id(name: str) -> UUID:
    return UUID(name.removeprefix(PREFIX))
