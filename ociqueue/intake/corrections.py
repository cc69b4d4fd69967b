"""Corrections of rows by their ids: from the console, a file or a command.

A row that failed, or that Google rejected after the script had reported it, is sent again as a corrected copy. It stays
as it is, marked as replaced; the moves that would send it again look for that mark (ociqueue.models.queryset), and a
constraint refuses them in any case. A row that waits is corrected itself. See ociqueue.intake.corrected_rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from kilit.api.input_model import FieldError, format_error
from kilit.csv.reader import CsvLine
from kilit.lock.clock import database_time
from kilit.masking import IDENTIFIERS
from ociqueue.intake.corrected_rows import (
    COLUMNS,
    Edit,
    differing,
    locked,
    make_copy,
    may_be_counted,
    store_corrections,
    why_not,
    with_history,
)
from ociqueue.intake.enqueue import read_columns
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import CONSENTS, format_consent
from ociqueue.states import WAITING, ConversionStatus

BATCH = 1000
SOURCE = "eventSource"  # a conversion always has one: an empty cell keeps it
# What stays: a second delivery by the source must find the original, and Google counts an order id once.
FIXED: dict[str, str] = {"orderId": "order_id", "sourceKey": "source_key"}


@dataclass(frozen=True)
class Correction:
    """A row to replace, by its id as given, and what to change; `fault` is why its line could not be read.

    `may_count_twice` is for an operator who was warned, with the one row on the screen.
    """

    id: str
    changes: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    line: CsvLine | None = None
    may_count_twice: bool = False


@dataclass(frozen=True)
class CorrectionResult:
    correction: Correction
    message: str
    copy: Conversion | None = None  # stored, or planned by a dry run
    edit: Edit | None = None  # of a row that waits
    is_unchanged: bool = False
    errors: list[FieldError] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.correction.id}: {self.message}"

    @property
    def corrected(self) -> Conversion | None:
        """The row that will be sent: the copy, or the row itself."""
        return self.copy or (self.edit.row if self.edit else None)


def replace_rows(site: Site, corrections: Iterable[Correction], *, dry_run: bool = False) -> Iterator[CorrectionResult]:
    """Correct each row, or queue a corrected copy of it; rows replaced before are skipped, so it can be run twice."""
    waiting = _mark_repeated(corrections)
    while batch := list(islice(waiting, BATCH)):
        with transaction.atomic():
            originals = _originals(site, batch, lock=not dry_run)
            now = database_time()
            results = [plan(each, originals.get(read_id(each.id)), now=now) for each in batch]
            if not dry_run:
                copies = [result.copy for result in results if result.copy]
                store_corrections(site, copies, [result.edit for result in results if result.edit])
        yield from (_worded(result, dry_run=dry_run) for result in results)


def plan(correction: Correction, original: Conversion | None, *, now: datetime) -> CorrectionResult:
    if correction.fault:
        return _rejected(correction, {"field": "", "message": correction.fault})
    if original is None:
        unknown = _("there is no such row at this site") if read_id(correction.id) else f"expected {PREFIX}<uuid>"
        return _rejected(correction, {"field": "id", "message": unknown})
    if errors := _refusal(original) or _fixed(original, correction.changes):
        return _rejected(correction, *errors)
    return _plan_changes(correction, original, now)


def _plan_changes(correction: Correction, original: Conversion, now: datetime) -> CorrectionResult:
    changes, is_waiting = _differing(original, correction.changes), original.status in WAITING
    if not changes and original.status != ConversionStatus.COMPLETED:
        unchanged = _("nothing is corrected") if is_waiting else _("nothing is corrected; Retry sends it as it is")
        return CorrectionResult(correction, unchanged, is_unchanged=True)
    if may_be_counted(original) and not correction.may_count_twice:
        warning = _("Google has counted it before, so a copy may count twice; correct it on its page in the console")
        return _rejected(correction, {"field": "", "message": warning})
    hashes = {name: getattr(original, name) for name in Conversion.HASHES}
    columns = read_columns(original.site, _corrected(original, changes), now=now, hashes=hashes)
    if isinstance(columns, list):
        return _rejected(correction, *columns)
    if not is_waiting:
        return CorrectionResult(correction, "", copy=make_copy(original, columns))
    if columns["action"] != original.action:
        return _rejected(correction, {"field": "conversionName", "message": _("It cannot be corrected.")})
    edit = Edit(original, {name: columns[name] for name in COLUMNS}, differing(original, columns))
    return CorrectionResult(correction, "", edit=edit)


def _refusal(original: Conversion) -> list[FieldError]:
    reason = why_not(original)
    return [{"field": "", "message": reason}] if reason else []


def read_id(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text.removeprefix(PREFIX))
    return None


def _mark_repeated(corrections: Iterable[Correction]) -> Iterator[Correction]:
    seen = set()
    for correction in corrections:
        pk = read_id(correction.id)
        yield replace(correction, fault=correction.fault or (_("named twice") if pk in seen else ""))
        seen |= {pk} if pk else set()


def _originals(site: Site, corrections: list[Correction], *, lock: bool) -> dict[UUID | None, Conversion]:
    rows = Conversion.objects.for_site(site).filter(
        pk__any_of=[pk for correction in corrections if (pk := read_id(correction.id))]
    )
    return {row.pk: row for row in (locked(rows) if lock else with_history(rows))}


def _fixed(original: Conversion, changes: Mapping[str, str]) -> list[FieldError]:
    """Find what a file changes although it cannot be corrected, and click ids that a viewer's export has masked."""
    edited = [name for name, column in FIXED.items() if changes.get(name, "") not in ("", getattr(original, column))]
    masked = [name for name in Conversion.CLICK_IDS if "…" in changes.get(name, "")]
    errors: list[FieldError] = [{"field": name, "message": _("It cannot be corrected.")} for name in edited]
    return errors + [{"field": name, "message": _("It is masked; use an operator's export.")} for name in masked]


def _differing(original: Conversion, changes: Mapping[str, str]) -> dict[str, str]:
    """Return what differs from the row; the click ids of a line are one value, whichever it fills in."""
    # The old name of both consents; a row may have two that differ.
    both = original.consent_ad_user_data
    own = _fields(original) | {"consent": both if both == original.consent_ad_personalization else ""}
    found = {
        name: text
        for name, text in changes.items()
        if name in own and _read(name, text) != _read(name, own[name]) and (text or name != SOURCE)
    }
    # Only an operator who wants to add or change one names it: no export has them.
    found |= {name: changes[name] for name in IDENTIFIERS if changes.get(name)}
    clicks = {name: changes[name] for name in Conversion.CLICK_IDS if changes.get(name)}
    if clicks and clicks != _click_ids(original):
        found |= clicks
    # All that a line says about consent, so that two cells that contradict each other are noticed.
    consents = {name: changes[name] for name in ("consent", *CONSENTS) if changes.get(name)}
    return found | consents if found.keys() & consents.keys() else found


def _corrected(original: Conversion, changes: Mapping[str, str]) -> dict[str, str]:
    is_new_click = bool(changes.keys() & set(Conversion.CLICK_IDS))
    own = _fields(original) | ({} if is_new_click else _click_ids(original))
    if "consent" in changes:
        own = {name: text for name, text in own.items() if name not in CONSENTS}
    return own | dict(changes)


def _fields(row: Conversion) -> dict[str, str]:
    return {
        "conversionName": row.action,
        "conversionTime": row.conversion_time.isoformat(),
        "conversionValue": str(row.value),
        "conversionCurrency": row.currency,
        "consentAdUserData": format_consent(row.consent_ad_user_data),
        "consentAdPersonalization": format_consent(row.consent_ad_personalization),
        SOURCE: row.event_source,
    }


def _click_ids(row: Conversion) -> dict[str, str]:
    return {name: getattr(row, name) for name in Conversion.CLICK_IDS if getattr(row, name)}


def _read(name: str, text: str) -> object:
    """Return what a text means: files have times to the second, in any zone, and values with any number of zeros."""
    with suppress(ValueError, OverflowError, InvalidOperation):
        if name == "conversionTime":
            time = datetime.fromisoformat(text)
            return int(time.timestamp()) if time.tzinfo else text
        if name == "conversionValue":
            return Decimal(text)
    return text.upper() if name == "conversionCurrency" else text


def _rejected(correction: Correction, *errors: FieldError) -> CorrectionResult:
    return CorrectionResult(correction, "; ".join(map(format_error, errors)), errors=list(errors))


def _worded(result: CorrectionResult, *, dry_run: bool) -> CorrectionResult:
    if not result.corrected:
        return result
    if result.edit:
        done = _("would be corrected") if dry_run else _("corrected")
    else:
        done = _("would be replaced") if dry_run else _("replaced by %(copy)s") % {"copy": result.copy}
    return replace(result, message=done)
