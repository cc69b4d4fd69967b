"""The keys of sites, issued and revoked on their pages and by API; each change is in the history of its site."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import Max

from kilit.access.models import ApiKey
from kilit.access.models.api_key import ApiKeyQuerySet
from kilit.sites.models import Tenant

IN_USE = "A key of this name is in use, with other scopes or another end. Revoke it, or choose another name."


@dataclass(frozen=True)
class KeyRequest:
    site: Tenant
    name: str
    scopes: Sequence[str]
    expires_at: datetime | None = None


@dataclass
class KeyPlan:
    """What becomes of each key that is asked for, in their order: one that exists, or a new one with its text."""

    existing: dict[int, ApiKey] = field(default_factory=dict)
    issued: dict[int, tuple[ApiKey, str]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)


@transaction.atomic  # with its record
def issue_key(user: Any, wanted: KeyRequest, *, note: str = "") -> tuple[ApiKey, str]:
    """Return a new key of a site and its text, which is stored nowhere."""
    issued = ApiKey.objects.issue(
        wanted.site.service_user(), name=wanted.name, scopes=wanted.scopes, expires_at=wanted.expires_at
    )
    logged = f"Issued the key {wanted.name} ({', '.join(wanted.scopes)}).{note}"
    LogEntry.objects.log_actions(user.pk, [wanted.site], CHANGE, logged)
    return issued


@transaction.atomic
def issue_once(user: Any, wanted: KeyRequest, *, after: str) -> str:
    """Return the text of a new key, or nothing if another was issued since `after`: a reload issues no second one."""
    Tenant.objects.select_for_update(no_key=True).get(pk=wanted.site.pk)  # serializes two clicks
    return issue_key(user, wanted)[1] if newest_key(wanted.site) == after else ""


def newest_key(site: Tenant) -> str:
    return str(site.keys().aggregate(Max("pk"))["pk__max"] or "none")


@transaction.atomic
def issue_keys(user: Any, wanted: Sequence[KeyRequest], *, note: str, dry_run: bool) -> KeyPlan:
    """Issue all of the keys, or none if one cannot be. A name that a valid key of the site has issues no second one."""
    # In one order, so that the same request twice at once issues each key once.
    ids = sorted({each.site.pk for each in wanted})
    list(Tenant.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
    plan = KeyPlan()
    for index, each in enumerate(wanted):
        if key := each.site.keys().valid().filter(name=each.name).first():
            if (set(key.scopes), key.expires_at) == (set(each.scopes), each.expires_at):
                plan.existing[index] = key
            else:
                plan.refused[index] = IN_USE
    if not plan.refused and not dry_run:
        plan.issued = {
            index: issue_key(user, each, note=note) for index, each in enumerate(wanted) if index not in plan.existing
        }
    return plan


@transaction.atomic
def revoke_key(user: Any, site: Tenant, key: ApiKey, *, note: str = "") -> bool:
    """Revoke a key of a site; return whether it was valid until now."""
    is_changed = bool(site.keys().filter(pk=key.pk).revoke())
    if is_changed:
        LogEntry.objects.log_actions(user.pk, [site], CHANGE, f"Revoked the key {key}.{note}")
    return is_changed


@transaction.atomic
def revoke_keys(user: Any, named: Sequence[tuple[Tenant, ApiKey]], *, note: str) -> set[int]:
    """Return the ids of those that were valid until now."""
    # In one order, so that two such requests wait for each other.
    in_order = sorted(named, key=lambda each: each[1].pk)
    return {key.pk for site, key in in_order if revoke_key(user, site, key, note=note)}


def keys_of(sites: Collection[Tenant]) -> ApiKeyQuerySet:
    return ApiKey.objects.filter(user__username__in=[site.keys_username for site in sites]).select_related("user")
