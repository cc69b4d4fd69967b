"""Corrected copies of rows that Google rejected after the script had reported them."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import IO
from uuid import UUID

from kilit.api.messages import format_error
from ociqueue.csv_import import read_lines
from ociqueue.enqueue import database_now, read_columns
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import FIELDS
from ociqueue.states import ConversionStatus

BATCH = 1000
# The source key stays with the original: a second delivery by the source must find that one.
COLUMNS = ("id", *(name for name in FIELDS if name != "sourceKey"))


@dataclass(frozen=True)
class Correction:
    """A row to replace, by its id as given, and what to change; `fault` is why the line could not be read."""

    id: str
    changes: dict[str, str] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class CorrectionResult:
    id: str
    message: str
    replaced: bool = False

    def __str__(self) -> str:
        return f"{self.id}: {self.message}"


def read_corrections(stream: IO[bytes]) -> Iterator[Correction]:
    """Read a CSV file with a column `id` and any columns to correct; an empty cell keeps the value."""
    for line in read_lines(stream, known=COLUMNS, required=["id"]):
        changes = {name: cell for name, cell in line.cells.items() if name != "id"}
        name = line.cells.get("id", "")
        yield Correction(name or f"line {line.number}", changes, line.fault or ("" if name else "the id is missing"))


def replace_rows(site: Site, corrections: Iterable[Correction], *, dry_run: bool = False) -> Iterator[CorrectionResult]:
    """Queue a corrected copy of each row; rows replaced before are skipped, so it can be run twice."""
    waiting = _mark_repeated(corrections)
    while batch := list(islice(waiting, BATCH)):
        originals = _originals(site, batch)
        now = database_now()
        planned = [(correction, plan(correction, originals, now=now)) for correction in batch]
        stored = set() if dry_run else store([copy for _, copy in planned if isinstance(copy, Conversion)])
        yield from (_result(correction, copy, stored, dry_run=dry_run) for correction, copy in planned)


def plan(correction: Correction, originals: dict[UUID, Conversion], *, now: datetime) -> Conversion | str:
    pk = read_id(correction.id)
    original = originals.get(pk) if pk else None
    if correction.fault or original is None:
        return correction.fault or ("there is no such row at this site" if pk else f"expected {PREFIX}<uuid>")
    if reason := why_not(original):
        return reason
    columns = read_columns(original.site, corrected(original, correction.changes), now=now)
    if isinstance(columns, list):
        return "; ".join(map(format_error, columns))
    # The same order id: if the first was counted after all, Google counts it once.
    return Conversion(**columns, order_id=original.order_id, replaces=original)


def why_not(original: Conversion) -> str:
    """Return why a row cannot be replaced, or ""; no move leaves COMPLETED, so the answer stays true."""
    if original.status != ConversionStatus.COMPLETED:
        return f"it is {original.status}; only COMPLETED rows are replaced"
    if original.uploaded_at:
        return "Google confirmed it"
    if hasattr(original, "replacement"):
        return f"already replaced by {original.replacement}"
    return ""


def corrected(original: Conversion, changes: dict[str, str]) -> dict[str, str]:
    """Return a row's fields with its corrections; a new click id of any kind replaces the old one."""
    item = {
        "conversionName": original.action,
        "conversionTime": original.conversion_time.isoformat(),
        "conversionValue": str(original.value),
        "conversionCurrency": original.currency,
        "consent": original.consent,
    }
    if not changes.keys() & set(Conversion.CLICK_IDS):
        item |= {name: getattr(original, name) for name in Conversion.CLICK_IDS}
    return item | changes


def store(copies: list[Conversion]) -> set[UUID]:
    """Insert copies and return the ids inserted; of two that replace the same row, the database accepts one."""
    Conversion.objects.bulk_create(copies, ignore_conflicts=True)
    return set(Conversion.objects.filter(pk__in=[copy.pk for copy in copies]).values_list("pk", flat=True))


def read_id(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text.removeprefix(PREFIX))
    return None


def _mark_repeated(corrections: Iterable[Correction]) -> Iterator[Correction]:
    seen = set()
    for correction in corrections:
        pk = read_id(correction.id)
        yield replace(correction, fault=correction.fault or ("named twice" if pk in seen else ""))
        seen |= {pk} if pk else set()


def _originals(site: Site, corrections: list[Correction]) -> dict[UUID, Conversion]:
    ids = [pk for correction in corrections if (pk := read_id(correction.id))]
    rows = Conversion.objects.for_site(site).filter(pk__in=ids).select_related("site", "replacement")
    return {row.pk: row for row in rows}


def _result(correction: Correction, copy: Conversion | str, stored: set[UUID], *, dry_run: bool) -> CorrectionResult:
    if isinstance(copy, str):
        return CorrectionResult(correction.id, copy)
    if dry_run:
        return CorrectionResult(correction.id, "would be replaced", replaced=True)
    if copy.pk not in stored:
        return CorrectionResult(correction.id, "replaced by another request at the same time")
    return CorrectionResult(correction.id, f"replaced by {copy}", replaced=True)
