"""Archiving sites: those that are no longer served disappear from lists and dashboards, and their rows stay."""

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from kilit.lock.audit import current_context, set_audit_context
from kilit.sites.models import Tenant
from kilit.sites.site_model import sites

OpenRows = Callable[[Collection[UUID]], set[UUID]]  # from sites to those of them that have rows to finish
SitesOrIds = QuerySet[Any] | Collection[UUID]
_queues: list[OpenRows] = []


def register_open_rows(open_rows: OpenRows) -> None:
    """Let a queue say which sites cannot be archived yet; called from an app's `ready()`."""
    _queues.append(open_rows)


def archive(chosen: SitesOrIds, *, reason: str) -> set[UUID]:
    """Take sites out of use and return their ids; sites with open rows stay as they are.

    An archived site is also paused, so that nothing is sent whatever arrives.
    """
    with transaction.atomic():
        set_audit_context(verb="", using=DEFAULT_DB_ALIAS)
        # With the queue's rows: whoever commits rows of a site right now holds its row by a foreign key.
        locked = sites().active().filter(pk__in=chosen).select_for_update().order_by("pk")
        ids = [site.pk for site in locked]
        finished = set(ids) - sites_with_open_rows(ids)
        by = {"paused_at": Now(), "paused_by": current_context().actor}
        Tenant.objects.filter(pk__in=finished).update(archived_at=Now(), is_paused=True, pause_reason=reason, **by)
        return finished


def restore(chosen: SitesOrIds) -> set[UUID]:
    """Bring archived sites back and return their ids; they stay paused until an operator resumes them."""
    with transaction.atomic():
        set_audit_context(verb="", using=DEFAULT_DB_ALIAS)
        archived = Tenant.objects.filter(archived_at__isnull=False, pk__in=chosen).select_for_update().order_by("pk")
        ids = set(archived.values_list("pk", flat=True))
        Tenant.objects.filter(pk__in=ids).update(archived_at=None)
        return ids


def sites_with_open_rows(ids: Collection[UUID]) -> set[UUID]:
    """Return those with rows that wait, are being sent or have no verdict yet, or with an import that goes on."""
    return {pk for open_rows in _queues for pk in open_rows(ids)}
