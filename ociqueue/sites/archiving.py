"""Archiving sites: those that are no longer served disappear from lists and dashboards, and their rows stay."""

from collections.abc import Collection
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models.functions import Now

from kilit.lock.audit import current_context, set_audit_context
from ociqueue.models import Adjustment, Conversion, ImportJob, Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.states import IMPORT_WORKING, IN_UPLOAD, WAITING, ImportState

OPEN = (*WAITING, *IN_UPLOAD)


def archive(sites: SiteQuerySet, *, reason: str) -> set[UUID]:
    """Take sites out of use and return their ids; sites with open rows stay as they are.

    An archived site is also paused, so that nothing is sent whatever arrives.
    """
    with transaction.atomic():
        set_audit_context(verb="", using=DEFAULT_DB_ALIAS)
        # Waits for requests that store rows right now: each holds its site by a foreign key.
        chosen = list(sites.active().select_for_update(of=["self"]).order_by("pk").values_list("pk", flat=True))
        finished = set(chosen) - sites_with_open_rows(chosen)
        by = {"paused_at": Now(), "paused_by": current_context().actor}
        Site.objects.filter(pk__in=finished).update(archived_at=Now(), is_paused=True, pause_reason=reason, **by)
        return finished


def restore(sites: SiteQuerySet) -> set[UUID]:
    """Bring archived sites back and return their ids; they stay paused until an operator resumes them."""
    with transaction.atomic():
        set_audit_context(verb="", using=DEFAULT_DB_ALIAS)
        archived = sites.filter(archived_at__isnull=False).select_for_update(of=["self"]).order_by("pk")
        found = set(archived.values_list("pk", flat=True))
        Site.objects.filter(pk__in=found).update(archived_at=None)
        return found


def sites_with_open_rows(sites: Collection[UUID]) -> set[UUID]:
    """Return those with rows that wait, are being sent or have no verdict yet, or with an import that goes on."""
    found: set[UUID] = set()
    for model in (Conversion, Adjustment):
        rows = model.objects.filter(site__in=sites, status__in=OPEN).order_by()
        found.update(rows.values_list("site", flat=True).distinct())
    imports = ImportJob.objects.filter(site__in=sites, status__in=(*IMPORT_WORKING, ImportState.READY))
    return found | set(imports.values_list("site", flat=True))
