"""The endpoints for agencies: pause, resume, archive and restore sites."""

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.openapi import endpoint
from kilit.sites import operations
from kilit.sites.api.views import (
    CONFLICT,
    NO_SUCH_SITE,
    NOT_ALLOWED,
    AgencyView,
    note_of,
    refuse_conflicts,
    refuse_invalid,
    refuse_repeated,
    summary,
)
from kilit.sites.operations import OperationPlan, SiteOperation
from kilit.sites.schemas import operations as schemas


class OperationView(AgencyView):
    """One of the verbs of sites."""

    errors = NOT_ALLOWED | CONFLICT
    operation: SiteOperation

    def run(self, request: Request, params: schemas.SitesNamed, *, reason: str = "") -> Response:
        if not self.operation.may(request.user):
            raise PermissionDenied("The user of this key may not do this.")
        refuse_repeated("sites", params.sites)
        plan = operations.run_on_all(
            self.operation,
            request.user,
            params.sites,
            reason=reason,
            note=f" {note_of(request)}",
            dry_run=params.dryRun,
        )
        refuse_plan(plan)
        results = [
            {
                "index": index,
                "status": "changed" if site.pk in plan.changed else "unchanged",
                "publicId": site.public_id,
                "name": site.name,
            }
            for index, site in enumerate(plan.sites)
            if site
        ]
        return Response(summary(results, ("changed", "unchanged"), dry_run=params.dryRun))


class PauseSitesView(OperationView):
    operation = operations.PAUSE

    @endpoint(schemas.SitesOperated, body=schemas.SitesNamedWithReason, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.SitesNamedWithReason) -> Response:
        """Pause sites.

        Nothing is exported or sent while a site is paused. Sites that are paused already stay as they are.
        """
        return self.run(request, params, reason=params.reason)


class ResumeSitesView(OperationView):
    operation = operations.RESUME

    @endpoint(schemas.SitesOperated, body=schemas.SitesNamed, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.SitesNamed) -> Response:
        """Resume sites.

        An archived site cannot be resumed: restore it first.
        """
        return self.run(request, params)


class ArchiveSitesView(OperationView):
    operation = operations.ARCHIVE

    @endpoint(schemas.SitesOperated, body=schemas.SitesNamedWithReason, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.SitesNamedWithReason) -> Response:
        """Archive sites.

        They leave lists and dashboards, are paused, and their keys are denied; their rows stay. A site with rows that
        wait or are being sent, or with an import that goes on, cannot be archived.
        """
        return self.run(request, params, reason=params.reason)


class RestoreSitesView(OperationView):
    operation = operations.RESTORE

    @endpoint(schemas.SitesOperated, body=schemas.SitesNamed, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.SitesNamed) -> Response:
        """Restore archived sites.

        They stay paused until they are resumed.
        """
        return self.run(request, params)


def refuse_plan(plan: OperationPlan) -> None:
    refuse_invalid({f"sites.{index}": NO_SUCH_SITE for index, site in enumerate(plan.sites) if site is None})
    refuse_conflicts(
        {
            f"sites.{index}": plan.refused[site.pk]
            for index, site in enumerate(plan.sites)
            if site and site.pk in plan.refused
        }
    )
