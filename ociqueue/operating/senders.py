"""Changing the sender of sites, on their pages and by API. No row is sent by two senders: see docs/oci-operators.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from kilit.workers import doorbells
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.operating.unsettled import UnsettledRows, unsettled_rows, with_open_rows
from ociqueue.states import UPLOADED_HERE, SyncMethod


@dataclass(frozen=True)
class SenderChange:
    site: Site
    before: SyncMethod
    open_rows: UnsettledRows


@transaction.atomic
def change_senders(
    user: User | AnonymousUser,
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
