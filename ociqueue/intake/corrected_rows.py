"""Corrected conversions as they are stored: a copy in place of a row that has ended, or new values in one that waits.

A row that has ended stays as it is, for its history. A copy is sent in its place, and both name each other. A row that
waits, and that Google cannot have, gets the new values itself. Rows are locked from the check to the change, so of a
correction and a claim, or a retry, at the same time one wins.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from kilit.lock.audit import current_context, person_of, without_activity
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.workers import doorbells
from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.schemas.conversions import AHEAD
from ociqueue.states import CONVERSIONS, ENDED, UPLOADED_HERE, WAITING, ConversionStatus, DeniedConsent

Columns = dict[str, Any]
ORDER_ID_IN_USE = "ORDER_ID_ALREADY_IN_USE"
# Google has the order id, or the click at that time. It may be this very conversion, sent by another way.
COUNTED_BEFORE = (ORDER_ID_IN_USE, "CLICK_CONVERSION_ALREADY_EXISTS")
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
# A time that was ahead of our clock is stored as that of its arrival: about when the row was created.
ARRIVAL = timedelta(seconds=10)


@dataclass(frozen=True)
class Edit:
    """A row that waits, and what it says from now on, by the names of the API."""

    row: Conversion
    columns: Columns
    fields: list[str]


def make_order_id(site: str, action: str, source: str) -> str:
    """Return the id by which Google counts a conversion once; `source` is the source key, or else the row's id."""
    return "oci_" + hashlib.sha256(f"{site}\n{action}\n{source}".encode()).hexdigest()[:40]


def is_withheld(site: Site, columns: Mapping[str, object]) -> bool:
    """Return whether a site does not send a conversion, because the visitor denied consent."""
    is_denied = columns["consent_ad_user_data"] == Conversion.Consent.DENIED
    return is_denied and site.denied_consent == DeniedConsent.WITHHOLD


def locked(rows: ConversionQuerySet) -> ConversionQuerySet:
    """Lock rows, and return them with what `why_not` asks for."""
    rows.lock_in_order()
    # Only now: a query that waits for a lock sees other tables, and other rows, as they were before it waited.
    return with_history(rows)


def with_history(rows: ConversionQuerySet) -> ConversionQuerySet:
    return rows.select_related("site", "replacement").prefetch_related("adjustments")


def why_not(row: Conversion) -> str:
    """Return why a row cannot be corrected, or ""; under a lock, the answer stays true."""
    if row.status not in (*ENDED, *WAITING):
        return _("it is %(state)s; it can be corrected when its result is known") % {"state": row.status}
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


def differing(row: Conversion, columns: Mapping[str, object]) -> list[str]:
    """Return what differs from a row, by the names of the API."""
    return [name for name, stored in CONTENT.items() if any(not _is_same(row, each, columns) for each in stored)]


def _is_same(row: Conversion, column: str, columns: Mapping[str, Any]) -> bool:
    given, stored = columns[column], getattr(row, column)
    return _is_same_time(row, given) if column == "conversion_time" else bool(given == stored)


def _is_same_time(row: Conversion, given: datetime) -> bool:
    """Compare to the second, as it is sent; a time that was ahead of our clock is stored as that of its arrival."""
    stored = row.conversion_time
    was_ahead = timedelta(0) <= row.created_at - stored < ARRIVAL and timedelta(0) < given - stored <= AHEAD
    return was_ahead or int(given.timestamp()) == int(stored.timestamp())


def make_copy(original: Conversion, columns: Mapping[str, object]) -> Conversion:
    """Return a corrected copy: the same order id, so that Google counts both once.

    Only if Google refused the original because that id was counted before, the copy has its own.
    """
    own = {name: value for name, value in columns.items() if name not in ("id", "order_id", "source_key")}
    copy = Conversion(**own, order_id=original.order_id, replaces=original)
    if original.status == ConversionStatus.FAILED and original.provider_error_code == ORDER_ID_IN_USE:
        copy.order_id = make_order_id(str(original.site_id), copy.action, str(copy.pk))
    return copy


def store_corrections(site: Site, copies: Collection[Conversion], edits: Collection[Edit] = ()) -> None:
    """Store copies and changed rows. The rows must be locked, and `why_not` must have nothing against them."""
    if copies:
        _store_copies(copies)
        _note("REPLACED", site, [copy.replaces_id for copy in copies])
    if edits:
        _store_edits(edits)
        _note("CORRECTED", site, [edit.row.pk for edit in edits])
    _withhold(site, copies, edits)
    if (copies or edits) and site.sync_method in UPLOADED_HERE:
        doorbells.ring("oci_upload")


def _withhold(site: Site, copies: Collection[Conversion], edits: Collection[Edit]) -> None:
    """End what is denied now, and let the rows know."""
    rows = [row for row in (*copies, *(edit.row for edit in edits)) if is_withheld(site, vars(row))]
    if rows:
        ended = Conversion.objects.filter(pk__any_of=[row.pk for row in rows]).withhold()
        for row in rows:
            if row.pk in ended:
                row.refresh_from_db(fields=["status", "provider_error_code"])


def _store_copies(copies: Collection[Conversion]) -> None:
    replaced = {copy.replaces.pk: copy for copy in copies if copy.replaces}
    originals = Conversion.objects.filter(pk__any_of=replaced)
    with without_activity():  # it shows the correction, not the new rows
        Conversion.objects.bulk_create(copies)
        originals.update(is_replaced=True)
    Event.objects.record_each(originals, "REPLACED", details_of=lambda row: {"replaced_by": str(replaced[row.pk])})
    Event.objects.record_each(copies, "REPLACES", details_of=lambda copy: {"replaces": str(copy.replaces)})


def _store_edits(edits: Collection[Edit]) -> None:
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
    found: dict[UUID, set[str]] = {}
    waiting = [row.pk for row in rows if row.status in WAITING]
    events = Event.objects.filter(queue=CONVERSIONS.queue, event_type="CORRECTED", object_id__in=waiting)
    for pk, details in events.exclude(actor__startswith="key:").values_list("object_id", "details") if waiting else ():
        found.setdefault(pk, set()).add(details["digest"])
    return found


def _describe(edit: Edit) -> dict[str, object]:
    """Return what changes: from which value to which, unless it identifies a person."""
    shown = {name: CONTENT[name][0] for name in edit.fields if name not in PERSONAL}
    return {
        "changed": edit.fields,
        "digest": digest_of({name: getattr(edit.row, name) for name in COLUMNS}),
        "before": {name: _text(getattr(edit.row, column)) for name, column in shown.items()},
        "after": {name: _text(edit.columns[column]) for name, column in shown.items()},
    }


def _text(value: object) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds") if isinstance(value, datetime) else f"{value}"


def _note(what: str, site: Site, rows: Collection[UUID | None]) -> None:
    by_person = person_of(current_context().actor)
    Activity.objects.record(
        ActivityKind.ACTION if by_person else ActivityKind.TASK,
        what,
        queue=CONVERSIONS.queue,
        scope=str(site.pk),
        rows=len(rows),
        object_id=str(next(iter(rows))) if len(rows) == 1 else "",
    )
