"""What is done with many sites at once, in the console and by API: pause, resume, archive, restore."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from kilit.sites.archiving import sites_with_open_rows
from kilit.sites.models import SiteQuerySet, Tenant
from kilit.sites.site_model import has_site_permission, sites


@dataclass(frozen=True)
class SiteOperation:
    """A verb of sites: who may use it, on which sites it has an effect, and what it does."""

    name: str
    permission: str
    logged: str  # in the history of each site, in English
    allowed: Callable[[Any], SiteQuerySet[Any]]
    applies: Callable[[SiteQuerySet[Any]], SiteQuerySet[Any]]
    run: Callable[[Collection[UUID], str], object]

    def may(self, user: User | AnonymousUser) -> bool:
        return has_site_permission(user, self.permission)


PAUSE = SiteOperation(
    "pause",
    "operate",
    "Paused: {reason}",
    allowed=lambda user: sites().once_run_by(user),
    applies=lambda rows: rows.filter(is_paused=False),
    run=lambda ids, reason: Tenant.objects.filter(pk__in=ids).pause(reason=reason),
)
RESUME = SiteOperation(
    "resume",
    "operate",
    "Resumed.",
    allowed=lambda user: sites().once_run_by(user),
    applies=lambda rows: rows.active().filter(is_paused=True),
    run=lambda ids, _reason: Tenant.objects.filter(pk__in=ids).resume(),
)
ARCHIVE = SiteOperation(
    "archive",
    "change",
    "Archived: {reason}",
    allowed=lambda user: sites().administered_by(user),
    applies=lambda rows: rows.active(),
    run=lambda ids, reason: Tenant.objects.filter(pk__in=set(ids) - sites_with_open_rows(ids)).archive(reason=reason),
)
RESTORE = SiteOperation(
    "restore",
    "change",
    "Restored.",
    allowed=lambda user: sites().administered_by(user),
    applies=lambda rows: rows.filter(archived_at__isnull=False),
    run=lambda ids, _reason: Tenant.objects.filter(pk__in=ids).restore(),
)


@transaction.atomic  # with its record
def run_where_possible(
    operation: SiteOperation, user: User | AnonymousUser, ids: Collection[UUID], *, reason: str, note: str = ""
) -> set[UUID]:
    """Do it with those of some sites where it has an effect and is possible; return which changed."""
    able = operation.applies(operation.allowed(user).filter(pk__in=ids))
    # Locked, so that exactly these change; another user may do the same now.
    chosen = [site.pk for site in _locked(operation, able)]
    operation.run(chosen, reason)
    able = sites().filter(pk__in=chosen)
    changed = able.exclude(pk__in=operation.applies(able).values("pk"))
    logged = operation.logged.format(reason=reason) + note
    LogEntry.objects.log_actions(int(user.pk or 0), changed, CHANGE, logged)
    return {site.pk for site in changed}


@dataclass(frozen=True)
class OperationPlan:
    """What an operation does with each of the named sites, in their order."""

    sites: list[Tenant | None]  # None: there is no such site among those of the user
    refused: dict[UUID, str]  # why it is not possible; machines are answered in English
    changed: set[UUID]


@transaction.atomic
def run_on_all(
    operation: SiteOperation,
    user: User | AnonymousUser,
    public_ids: Collection[str],
    *,
    reason: str,
    note: str,
    dry_run: bool,
) -> OperationPlan:
    """Do it with all of the named sites, or with none if it is not possible with one of them."""
    named = operation.allowed(user).filter(public_id__in=public_ids)
    # Locked before anything is checked: what is possible now must be so when it is done.
    found = {site.public_id: site for site in _locked(operation, named)}
    able = set(operation.applies(named).values_list("pk", flat=True))
    plan = OperationPlan(
        [found.get(each) for each in public_ids], _refusals(operation, list(found.values()), able), able
    )
    if None not in plan.sites and not plan.refused and not dry_run:
        run_where_possible(operation, user, able, reason=reason, note=note)
    return plan


def _locked(operation: SiteOperation, rows: SiteQuerySet[Any]) -> SiteQuerySet[Any]:
    """Lock sites in one order; only archiving waits for requests that store rows, and keeps new ones waiting."""
    return rows.select_for_update(no_key=operation is not ARCHIVE).order_by("pk")


def _refusals(operation: SiteOperation, named: list[Tenant], able: set[UUID]) -> dict[UUID, str]:
    if operation is ARCHIVE:
        text = "It has rows that wait or are being sent, or an import that goes on, and cannot be archived yet."
        return dict.fromkeys(sites_with_open_rows(able), text)
    if operation is RESUME:
        return {site.pk: "It is archived. Restore it first." for site in named if site.archived_at}
    return {}
