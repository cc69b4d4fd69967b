"""The endpoints for agencies: sites with what Google's queue stores about them."""

from functools import partial

from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.cursor import cut_page
from kilit.api.openapi import endpoint
from kilit.sites.api.views import AgencyView, name_item, note_of, read_items, refuse, summary, user_of
from kilit.sites.site_files import SiteChange
from ociqueue.files.sites import SITES
from ociqueue.models import Site
from ociqueue.schemas import agency


class SitesView(AgencyView):
    @endpoint(agency.ManagedSites, query=agency.SitesQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, params: agency.SitesQuery) -> Response:
        """List sites.

        Those that the key's user administers; of an owner, all. Pass `nextCursor` as `cursor` for the next page.
        """
        sites = Site.objects.administered_by(request.user)
        if params.state != "all":
            sites = sites.filter(archived_at__isnull=params.state == "active")
        if params.cursor:
            sites = sites.filter(pk__gt=params.cursor)
        shown, following = cut_page(list(sites.order_by("pk")[: params.limit + 1]), params.limit)
        return Response({"sites": [present_site(site) for site in shown], "nextCursor": following})

    @endpoint(agency.SitesStored, body=agency.SitesRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: agency.SitesRequest) -> Response:
        """Create and change sites.

        A site is recognised by its `publicId`, or else by its `name`; a name that no site has creates one, and the
        key's user becomes its admin. Sending the same again changes nothing. If one is invalid, nothing is stored.
        """
        plan = SITES.store(
            user_of(request),
            read_items(params.sites),
            dry_run=params.dryRun,
            name_place=partial(name_item, "sites"),
            logged=f"Stored by API. {note_of(request)}",
        )
        refuse("sites", plan.rejected)
        results = [present_stored_site(each, dry_run=params.dryRun) for each in plan.found]
        return Response(summary(results, ("created", "changed", "unchanged"), dry_run=params.dryRun))


def present_site(site: Site) -> dict[str, object]:
    return {
        "publicId": site.public_id,
        **{name: getattr(site, column) for name, column in SITES.stored.items()},
        "isPaused": site.is_paused,
        "pauseReason": site.pause_reason,
        "archivedAt": site.archived_at,
        "lastExportAt": site.last_export_at,
        "lastAckAt": site.last_ack_at,
        "createdAt": site.created_at,
    }


def present_stored_site(change: SiteChange, *, dry_run: bool) -> dict[str, object]:
    status = "created" if change.is_new else "changed" if change.changes else "unchanged"
    values = {
        name: {"before": None if change.is_new else before, "after": after}
        for name, (before, after) in change.changes.items()
    }
    return {
        "index": change.line,
        "status": status,
        "publicId": None if change.is_new and dry_run else change.site.public_id,
        "name": change.site.name,
        "isArchived": change.site.archived_at is not None,
        "changes": values,
    }
