"""Scopes: sites as counts, error groups, bulk actions and endpoints store them, which is their id as text.

The empty scope is the whole installation. A list of scopes that is None means all.
"""

from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser, User

from kilit.access.roles import is_owner
from kilit.sites.models import SiteQuerySet, Tenant
from kilit.sites.site_model import sites

INSTALLATION = ""


def scope_names() -> Mapping[str, str]:
    return {str(pk): name for pk, name in Tenant.objects.values_list("pk", "name")}


def scope_choices() -> Mapping[str, str]:
    """Return those in use by their ids, each with what tells it from others of a similar name."""
    return {str(site.pk): site.label for site in sites().active()}


def scope_public_ids() -> Mapping[str, str]:
    """Return the ids by which callers of the API know each site."""
    return {str(pk): public_id for pk, public_id in Tenant.objects.values_list("pk", "public_id")}


def scopes_seen_by(user: User | AnonymousUser) -> list[str] | None:
    return None if is_owner(user) else _scopes(Tenant.objects.seen_by(user))


def scopes_shown_to(user: User | AnonymousUser) -> list[str] | None:
    """Return what dashboards count: without archived sites, except for owners."""
    return None if is_owner(user) else _scopes(Tenant.objects.seen_by(user).active())


def scopes_run_by(user: User | AnonymousUser) -> list[str] | None:
    return None if is_owner(user) else _scopes(Tenant.objects.run_by(user))


def _scopes(rows: SiteQuerySet[Tenant]) -> list[str]:
    return [str(pk) for pk in rows.values_list("pk", flat=True)]
