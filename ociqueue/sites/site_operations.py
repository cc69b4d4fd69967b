"""What is done with many sites at once, in the console and by API: pause, resume, archive, restore."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction

from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.sites.archiving import archive, restore, sites_with_open_rows


@dataclass(frozen=True)
class SiteOperation:
    """A verb of sites: who may use it, on which sites it has an effect, and what it does."""

    name: str
    permission: str
    logged: str  # in the history of each site, in English
    allowed: Callable[[Any], SiteQuerySet]
    applies: Callable[[SiteQuerySet], SiteQuerySet]
    run: Callable[[SiteQuerySet, str], Any]

    def may(self, user: Any) -> bool:
        return bool(user.has_perm(self.permission))


PAUSE = SiteOperation(
    "pause",
    "ociqueue.operate_site",
    "Paused: {reason}",
    allowed=Site.objects.once_run_by,
    applies=lambda sites: sites.filter(is_paused=False),
    run=lambda sites, reason: sites.pause(reason=reason),
)
RESUME = SiteOperation(
    "resume",
    "ociqueue.operate_site",
    "Resumed.",
    allowed=Site.objects.once_run_by,
    applies=lambda sites: sites.active().filter(is_paused=True),
    run=lambda sites, _reason: sites.resume(),
)
ARCHIVE = SiteOperation(
    "archive",
    "ociqueue.change_site",
    "Archived: {reason}",
    allowed=Site.objects.administered_by,
    applies=lambda sites: sites.active(),
    run=lambda sites, reason: archive(sites, reason=reason),
)
RESTORE = SiteOperation(
    "restore",
    "ociqueue.change_site",
    "Restored.",
    allowed=Site.objects.administered_by,
    applies=lambda sites: sites.filter(archived_at__isnull=False),
    run=lambda sites, _reason: restore(sites),
)


@transaction.atomic  # with its record
def run_where_possible(
    operation: SiteOperation, user: Any, ids: Collection[UUID], *, reason: str, note: str = ""
) -> set[UUID]:
    """Do it with those of some sites where it has an effect and is possible; return which changed."""
    sites = operation.applies(operation.allowed(user).filter(pk__in=ids))
    # Locked, so that exactly these change; another user may do the same now.
    chosen = list(_locked(operation, sites).values_list("pk", flat=True))
    able = Site.objects.filter(pk__in=chosen)
    operation.run(able, reason)
    changed = able.exclude(pk__in=operation.applies(able).values("pk"))
    logged = operation.logged.format(reason=reason) + note
    LogEntry.objects.log_actions(int(user.pk or 0), changed, CHANGE, logged)
    return {site.pk for site in changed}


@dataclass(frozen=True)
class OperationPlan:
    """What an operation does with each of the named sites, in their order."""

    sites: list[Site | None]  # None: there is no such site among those of the user
    refused: dict[UUID, str]  # why it is not possible; machines are answered in English
    changed: set[UUID]

    @property
    def is_possible(self) -> bool:
        return None not in self.sites and not self.refused


@transaction.atomic
def run_on_all(
    operation: SiteOperation,
    user: Any,
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
    if plan.is_possible and not dry_run:
        run_where_possible(operation, user, able, reason=reason, note=note)
    return plan


def _locked(operation: SiteOperation, sites: SiteQuerySet) -> SiteQuerySet:
    """Lock sites in one order; only archiving waits for requests that store rows, and keeps new ones waiting."""
    return sites.select_for_update(of=["self"], no_key=operation is not ARCHIVE).order_by("pk")


def _refusals(operation: SiteOperation, sites: list[Site], able: set[UUID]) -> dict[UUID, str]:
    if operation is ARCHIVE:
        text = "It has rows that wait or are being sent, or an import that goes on, and cannot be archived yet."
        return dict.fromkeys(sites_with_open_rows(able), text)
    if operation is RESUME:
        return {site.pk: "It is archived. Restore it first." for site in sites if site.archived_at}
    return {}
