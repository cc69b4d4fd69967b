"""Changing the sender of sites, on their pages and by API. No row is sent by two senders: see docs/oci-operators.md.

Google counts an order id once, but only within one account. So rows that the account may have, and whose result is
open, matter when the account changes: sent to another account, a row counts there as well.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import Count, Q

from kilit.workers import doorbells
from ociqueue.models import Adjustment, Circuit, Conversion, Credentials, ImportJob, Site
from ociqueue.states import UPLOADED_HERE, WAITING, ConversionStatus, SyncMethod

# As two conditions: each has an index of its own.
IS_IN_UPLOAD = Q(status=ConversionStatus.PROCESSING) | Q(status=ConversionStatus.UPLOADED)


@dataclass(frozen=True)
class UnsettledRows:
    processing: int
    uploaded: int
    unknown_waiting: int  # the next sender sends them again
    unknown_failed: int  # a retry would

    def __bool__(self) -> bool:
        return any((self.processing, self.uploaded, self.unknown_waiting, self.unknown_failed))

    def __str__(self) -> str:
        """Return the numbers for the site's history, which is read in other languages, too."""
        unknown = f"{self.unknown_waiting} waiting and {self.unknown_failed} failed with an unknown outcome"
        return f"{self.processing} PROCESSING, {self.uploaded} UPLOADED, {unknown}"


def with_open_rows(sentence: str, rows: UnsettledRows) -> str:
    """Return what the history says of a change; it is read in other languages, too."""
    return f"{sentence}, with unsettled rows: {rows}." if rows else f"{sentence}."


def unsettled_rows(site: Site) -> UnsettledRows:
    rows = Conversion.objects.for_site(site)
    held = dict(rows.filter(IS_IN_UPLOAD).values_list("status").annotate(number=Count("pk")).order_by())
    unknown = rows.filter(outcome_unknown=True).aggregate(
        waiting=Count("pk", filter=Q(status__in=WAITING)),
        failed=Count("pk", filter=Q(status=ConversionStatus.FAILED, is_replaced=False)),
    )
    return UnsettledRows(
        processing=held.get(ConversionStatus.PROCESSING, 0),
        uploaded=held.get(ConversionStatus.UPLOADED, 0),
        unknown_waiting=unknown["waiting"],
        unknown_failed=unknown["failed"],
    )


def sites_with_open_rows(sites: Collection[UUID]) -> set[UUID]:
    """Return those with rows that wait, are being sent or have no verdict yet, or with an import that goes on."""
    ids: set[UUID] = set()
    for model in (Conversion, Adjustment):
        rows = model.objects.filter(IS_IN_UPLOAD | Q(status__in=WAITING), site__in=sites).order_by()
        ids.update(rows.values_list("site", flat=True).distinct())
    imports = ImportJob.objects.open().filter(site__in=sites)
    return ids | set(imports.values_list("site", flat=True))


@dataclass(frozen=True)
class SenderChange:
    site: Site
    before: SyncMethod
    open_rows: UnsettledRows


@transaction.atomic
def change_senders(
    user: Any,
    sites: Sequence[Site],
    sender: SyncMethod,
    *,
    is_confirmed: bool,
    note: str,
    dry_run: bool,
) -> list[SenderChange]:
    """Give sites another sender: all of them, or none if rows are open and the caller has not confirmed that.

    The result tells what each had before, so that one whose sender is the same already is known.
    """
    locked = Site.objects.select_for_update(of=["self"], no_key=True).filter(pk__in=[site.pk for site in sites])
    now: dict[UUID, Site] = {site.pk: site for site in locked.order_by("pk")}
    plan = [
        SenderChange(now[site.pk], SyncMethod(now[site.pk].sync_method), unsettled_rows(now[site.pk])) for site in sites
    ]
    changes = [change for change in plan if change.before != sender]
    if dry_run or (not is_confirmed and any(change.open_rows for change in changes)):
        return plan
    for change in changes:
        change.site.sync_method = sender
        change.site.save(update_fields=["sync_method"])
        record_switch(user, change.site, before=change.before, open_rows=change.open_rows, note=note)
        after_switch(change.site)
    return plan


def record_switch(user: Any, site: Site, *, before: str, open_rows: UnsettledRows, note: str = "") -> None:
    changed = with_open_rows(f"Changed the sender from {before} to {site.sync_method}", open_rows)
    LogEntry.objects.log_actions(user.pk, [site], CHANGE, changed + note)


def after_switch(site: Site) -> None:
    """Let the new sender begin: it probes circuits that the old one opened, and its login is tested."""
    if site.sync_method not in UPLOADED_HERE:
        return
    Circuit.objects.filter(site=site).probe_now()
    if stored := Credentials.objects.filter(site=site).first():
        stored.request_check()
        doorbells.ring("oci_check_credentials")
    doorbells.ring("oci_upload")
