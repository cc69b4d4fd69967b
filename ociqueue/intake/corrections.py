"""Corrections: a copy in place of a row that has ended, or new values in one that waits.

A row that failed, or that Google rejected after the script had reported it, stays as it is, for its history. A copy is
sent in its place, and both name each other: the moves that would send the row again look for `is_replaced`
(ociqueue.models.conversion), and a constraint refuses them in any case. A row that waits, and that Google cannot have,
gets the new values itself. Rows are locked from the check to the change, so one wins of a correction and a claim.

The console, files and a command name rows by their ids (`replace_rows`); a source sends a key again
(ociqueue.intake.enqueue).
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from kilit.api.input_model import FieldError, format_error
from kilit.csv.reader import CsvLine
from kilit.lock.audit import current_context, person_of, without_activity
from kilit.lock.clock import database_time
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.masking import IDENTIFIERS
from kilit.workers import doorbells
from ociqueue.codes.table import COUNTED_BEFORE, ORDER_ID_IN_USE
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX, ConversionQuerySet, make_order_id
from ociqueue.schemas.conversions import AHEAD, CONSENTS, Columns, format_consent, read_columns
from ociqueue.states import CONVERSIONS, ENDED, UPLOADED_HERE, WAITING, ConversionStatus, DeniedConsent

BATCH = 1000
# What a conversion says, by the names of the API, and the columns that store it.
CONTENT: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in Conversion.CLICK_IDS},
    "conversionTime": ("conversion_time",),
    "conversionValue": ("value",),
    "conversionCurrency": ("currency",),
    "consentAdUserData": ("consent_ad_user_data",),
    "consentAdPersonalization": ("consent_ad_personalization",),
    "eventSource": ("event_source",),
    "email": ("hashed_email", "hashed_email_ads"),
    "phone": ("hashed_phone",),
}
COLUMNS = tuple(column for columns in CONTENT.values() for column in columns)
PERSONAL = (*Conversion.CLICK_IDS, "email", "phone")  # an event outlives their erasure, so it only names them
SOURCE = "eventSource"  # a conversion always has one: an empty cell keeps it
# What stays: a second delivery by the source must find the original, and Google counts an order id once.
FIXED: dict[str, str] = {"orderId": "order_id", "sourceKey": "source_key"}
# A time that was ahead of our clock is stored as the time of arrival: about when the row was created.
ARRIVAL = timedelta(seconds=10)


@dataclass(frozen=True)
class ConversionChange:
    """A stored row, what it says from now on, and the fields that differ, by the names of the API."""

    row: Conversion
    columns: Columns
    fields: list[str]
    copy: Conversion | None  # says it in place of a row that has ended

    @property
    def sent(self) -> Conversion:
        return self.copy or self.row


def is_withheld(site: Site, columns: Mapping[str, object]) -> bool:
    is_denied = columns["consent_ad_user_data"] == Conversion.Consent.DENIED
    return is_denied and site.denied_consent == DeniedConsent.WITHHOLD


def with_history(rows: ConversionQuerySet, *, lock: bool) -> dict[UUID | None, Conversion]:
    """Return rows by their ids, with what `why_not` asks for."""
    if lock:
        # Before: a query that waits for a lock sees other tables, and other rows, as they were before it waited.
        rows.lock_in_order()
    return {row.pk: row for row in rows.select_related("site", "replacement").prefetch_related("adjustments")}


def why_not(row: Conversion) -> str:
    """Return why a row cannot be corrected, or ""; under a lock, the answer stays true."""
    if row.status not in (*ENDED, *WAITING):
        return _("it is %(state)s; it can be corrected when its result is known") % {
            "state": row.lifecycle.labels[row.status]
        }
    if row.uploaded_at or row.erased_at:
        return _("Google confirmed it") if row.uploaded_at else _("it was erased")
    copy = getattr(row, "replacement", None)
    if copy or row.is_replaced:  # old copies are pruned before their originals
        return _("already replaced by %(copy)s") % {"copy": copy} if copy else _("already replaced")
    if row.adjustments.exists():
        # It would be sent as the conversion was, with the same order id.
        return _("it was adjusted; a copy would put its old value back")
    # What is sent again after a lost answer must be the same to the byte.
    if row.outcome_unknown and row.status != ConversionStatus.COMPLETED:
        return _("its outcome is unknown, Google may have it; Retry sends it as it is")
    return ""


def may_be_counted(row: Conversion) -> bool:
    """Return whether Google refused a row as one that it has: a corrected copy could count a second time."""
    return row.status == ConversionStatus.FAILED and row.provider_error_code in COUNTED_BEFORE


def differing(row: Conversion, columns: Mapping[str, Any]) -> list[str]:
    same = {column: columns[column] == getattr(row, column) for column in COLUMNS}
    same["conversion_time"] = _is_same_time(row, columns["conversion_time"])
    return [name for name, stored in CONTENT.items() if not all(same[column] for column in stored)]


def _is_same_time(row: Conversion, time: datetime) -> bool:
    """Compare to the second, as it is sent."""
    stored = row.conversion_time
    was_ahead = timedelta(0) <= row.created_at - stored < ARRIVAL and timedelta(0) < time - stored <= AHEAD
    return was_ahead or int(time.timestamp()) == int(stored.timestamp())


def make_copy(original: Conversion, columns: Mapping[str, object]) -> Conversion:
    """Return a corrected copy: the same order id, so that Google counts both once.

    Only if Google refused the original because that id was counted before, the copy has its own.
    """
    own = {name: value for name, value in columns.items() if name not in ("id", "order_id", "source_key")}
    copy = Conversion(**own, order_id=original.order_id, replaces=original)
    if original.status == ConversionStatus.FAILED and original.provider_error_code == ORDER_ID_IN_USE:
        copy.order_id = make_order_id(str(original.site_id), copy.action, str(copy.pk))
    return copy


def change_row(row: Conversion, columns: Columns, fields: list[str]) -> ConversionChange:
    return ConversionChange(row, columns, fields, copy=None if row.status in WAITING else make_copy(row, columns))


def store_changes(site: Site, changes: Collection[ConversionChange]) -> None:
    """Store copies and changed rows. The rows must be locked, and `why_not` must have nothing against them."""
    copies = [change.copy for change in changes if change.copy]
    edits = [change for change in changes if not change.copy]
    if copies:
        _store_copies(copies)
        note_activity("REPLACED", site, [copy.replaces_id for copy in copies])
    if edits:
        _store_edits(edits)
        note_activity("CORRECTED", site, [edit.row.pk for edit in edits])
    if withheld := {change.sent.pk: change.sent for change in changes if is_withheld(site, vars(change.sent))}:
        for pk in Conversion.objects.filter(pk__any_of=withheld).withhold():
            withheld[pk].refresh_from_db(fields=["status", "provider_error_code"])
    if changes and site.sync_method in UPLOADED_HERE:
        doorbells.ring("oci_upload")


def _store_copies(copies: Collection[Conversion]) -> None:
    replaced = {copy.replaces.pk: copy for copy in copies if copy.replaces}
    originals = Conversion.objects.filter(pk__any_of=replaced)
    with without_activity():  # it shows the correction, not the new rows
        Conversion.objects.bulk_create(copies)
        originals.update(is_replaced=True)
    Event.objects.record_each(originals, "REPLACED", details_of=lambda row: {"replaced_by": str(replaced[row.pk])})
    Event.objects.record_each(copies, "REPLACES", details_of=lambda copy: {"replaces": str(copy.replaces)})


def _store_edits(edits: Collection[ConversionChange]) -> None:
    details = {edit.row.pk: _describe(edit) for edit in edits}
    rows = [edit.row for edit in edits]
    for edit in edits:
        for column in COLUMNS:
            setattr(edit.row, column, edit.columns[column])
    waiting = Conversion.objects.waiting()
    waiting.bulk_update(rows, COLUMNS, batch_size=500)
    waiting.filter(pk__any_of=details).update(updated_at=Now())
    Event.objects.record_each(rows, "CORRECTED", details_of=lambda row: details[row.pk])


def digest_of(columns: Mapping[str, Any]) -> str:
    """Return a digest of what a conversion says: an event may keep it, and still nothing identifies a person."""
    texts = [_text(columns[name].normalize() if name == "value" else columns[name]) for name in COLUMNS]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def contents_before(rows: Collection[Conversion]) -> dict[UUID, set[str]]:
    """Return the digests of what rows said before an operator corrected them; a source that corrects itself is free."""
    digests: dict[UUID, set[str]] = {}
    waiting = [row.pk for row in rows if row.status in WAITING]
    events = Event.objects.filter(queue=CONVERSIONS.queue, event_type="CORRECTED", object_id__in=waiting)
    for pk, details in events.exclude(actor__startswith="key:").values_list("object_id", "details") if waiting else ():
        digests.setdefault(pk, set()).add(details["digest"])
    return digests


def _describe(edit: ConversionChange) -> dict[str, object]:
    """Return what changes: from which value to which, unless it identifies a person."""
    columns = {name: CONTENT[name][0] for name in edit.fields if name not in PERSONAL}
    return {
        "changed": edit.fields,
        "digest": digest_of({name: getattr(edit.row, name) for name in COLUMNS}),
        "before": {name: _text(getattr(edit.row, column)) for name, column in columns.items()},
        "after": {name: _text(edit.columns[column]) for name, column in columns.items()},
    }


def _text(value: object) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds") if isinstance(value, datetime) else f"{value}"


def note_activity(what: str, site: Site, rows: Collection[UUID | None]) -> None:
    Activity.objects.record(
        ActivityKind.ACTION if person_of(current_context().actor) else ActivityKind.TASK,
        what,
        queue=CONVERSIONS.queue,
        scope=str(site.pk),
        rows=len(rows),
        object_id=str(next(iter(rows))) if len(rows) == 1 else "",
    )


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
    change: ConversionChange | None = None  # stored, or planned by a dry run
    is_unchanged: bool = False
    errors: list[FieldError] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.correction.id}: {self.message}"

    @property
    def copy(self) -> Conversion | None:
        return self.change.copy if self.change else None

    @property
    def corrected(self) -> Conversion | None:
        """The row that will be sent: the copy, or the row itself."""
        return self.change.sent if self.change else None


def replace_rows(site: Site, corrections: Iterable[Correction], *, dry_run: bool = False) -> Iterator[CorrectionResult]:
    """Correct each row, or queue a corrected copy of it; rows replaced before are skipped, so it can be run twice."""
    waiting = _mark_repeated(corrections)
    while batch := list(islice(waiting, BATCH)):
        ids = [pk for correction in batch if (pk := read_id(correction.id))]
        with transaction.atomic():
            originals = with_history(Conversion.objects.for_site(site).filter(pk__any_of=ids), lock=not dry_run)
            now = database_time()
            results = [plan(correction, originals.get(read_id(correction.id)), now=now) for correction in batch]
            if not dry_run:
                store_changes(site, [result.change for result in results if result.change])
        yield from (_worded(result, dry_run=dry_run) for result in results)


def plan(correction: Correction, original: Conversion | None, *, now: datetime) -> CorrectionResult:
    if correction.fault:
        return _rejected(correction, {"field": "", "message": correction.fault})
    if original is None:
        unknown = _("there is no such row at this site")
        message = unknown if read_id(correction.id) else _("expected %(form)s") % {"form": f"{PREFIX}<uuid>"}
        return _rejected(correction, {"field": "id", "message": message})
    if reason := why_not(original):
        return _rejected(correction, {"field": "", "message": reason})
    if errors := _fixed(original, correction.changes):
        return _rejected(correction, *errors)
    return _plan_changes(correction, original, now)


def _plan_changes(correction: Correction, original: Conversion, now: datetime) -> CorrectionResult:
    changes, is_waiting = _changed_fields(original, correction.changes), original.status in WAITING
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
    if is_waiting and columns["action"] != original.action:
        return _rejected(correction, {"field": "conversionName", "message": _("It cannot be corrected.")})
    return CorrectionResult(correction, "", change_row(original, columns, differing(original, columns)))


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


def _fixed(original: Conversion, changes: Mapping[str, str]) -> list[FieldError]:
    """Find what a file changes although it cannot be corrected, and click ids that a viewer's export has masked."""
    edited = [name for name, column in FIXED.items() if changes.get(name, "") not in ("", getattr(original, column))]
    masked = [name for name in Conversion.CLICK_IDS if "…" in changes.get(name, "")]
    errors: list[FieldError] = [{"field": name, "message": _("It cannot be corrected.")} for name in edited]
    return errors + [{"field": name, "message": _("It is masked; use an operator's export.")} for name in masked]


def _changed_fields(original: Conversion, changes: Mapping[str, str]) -> dict[str, str]:
    """Return what differs from the row; the click ids of a line are one value."""
    # `consent` sets both consents; a row may have two that differ.
    both = original.consent_ad_user_data
    own = _fields(original) | {"consent": both if both == original.consent_ad_personalization else ""}
    changed = {
        name: text
        for name, text in changes.items()
        if name in own and _read(name, text) != _read(name, own[name]) and (text or name != SOURCE)
    }
    # Only an operator who wants to add or change one names it: no export has them.
    changed |= {name: changes[name] for name in IDENTIFIERS if changes.get(name)}
    clicks = {name: changes[name] for name in Conversion.CLICK_IDS if changes.get(name)}
    if clicks and clicks != _click_id(original):
        changed |= clicks
    # All that a line says about consent, so that two cells that contradict each other are noticed.
    consents = {name: changes[name] for name in ("consent", *CONSENTS) if changes.get(name)}
    return changed | consents if changed.keys() & consents.keys() else changed


def _corrected(original: Conversion, changes: Mapping[str, str]) -> dict[str, str]:
    is_new_click = bool(changes.keys() & set(Conversion.CLICK_IDS))
    own = _fields(original) | ({} if is_new_click else _click_id(original))
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


def _click_id(row: Conversion) -> dict[str, str]:
    return {row.kind_of_click_id: row.click_id} if row.click_id else {}


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
    if not result.change:
        return result
    planned, done = _("would be corrected"), _("corrected")
    if result.copy:
        planned, done = _("would be replaced"), _("replaced by %(copy)s") % {"copy": result.copy}
    return replace(result, message=planned if dry_run else done)
