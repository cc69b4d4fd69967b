"""The operators' endpoints: for a session, limited to the user's sites, and for a key that manages sites."""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication, SessionAuthentication
from kilit.access.key_scopes import KeyScope
from kilit.api.input_model import InvalidInput
from kilit.api.openapi import ApiResponse, endpoint
from kilit.lock.audit import for_reason
from kilit.sites.api.views import NOT_ALLOWED, administered_sites, note_of
from kilit.sites.models import SiteQuerySet
from ociqueue.api.script import NO_SITE, find_site
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import ConversionQuerySet
from ociqueue.operating import presenters
from ociqueue.queue import QUEUE
from ociqueue.schemas import responses
from ociqueue.schemas.requests import ActionRequest, RowsQuery, SiteRequest, StatsQuery
from ociqueue.schemas.responses import GoogleCounts
from ociqueue.script import acknowledge

WITHOUT_GROUP = "The role at this site would do, but the user is in no group that may act, such as operator."


class OperatorView(APIView):
    """A view for users; sites of which they are not a member, or by a key not an admin, are not found."""

    tag = "Operators of conversions"
    errors = NO_SITE | NOT_ALLOWED
    authentication_classes = [SessionAuthentication, KeyAuthentication]

    def sites(self, request: Request) -> SiteQuerySet[Site]:
        return administered_sites(request) if request.auth else Site.objects.seen_by(request.user)

    def site(self, request: Request, name: str) -> Site:
        return find_site(self.sites(request), name)


class StatsView(OperatorView):
    @endpoint(
        ApiResponse("The stats of one site, or of all.", responses.SiteStats | responses.SummedStats),
        query=StatsQuery,
        scope=KeyScope.ADMIN,
    )
    def get(self, request: Request, query: StatsQuery) -> Response:
        """Get the stats of a site, or of all."""
        if query.scope == "multi" or query.siteId is None:
            return Response(presenters.summed_stats(list(self.sites(request).active())))
        return Response(presenters.stats(self.site(request, query.siteId)))


class GoogleCountsView(OperatorView):
    @endpoint(GoogleCounts, query=SiteRequest, scope=KeyScope.ADMIN)
    def get(self, request: Request, query: SiteRequest) -> Response:
        """Get a site's counts beside Google's, by day and conversion action.

        Of the seven days before the last reading.
        """
        return Response(presenters.google_counts(self.site(request, query.siteId)))


class RowsView(OperatorView):
    @endpoint(responses.ConversionRows, query=RowsQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, query: RowsQuery) -> Response:
        """List a site's conversions.

        Newest first. Pass `nextCursor` as `cursor` for the next page; pages are stable while rows move.
        """
        site = self.site(request, query.siteId)
        return Response(presenters.rows_page(site, limit=query.limit, status=query.status, cursor=query.cursor))


class ActionsView(OperatorView):
    takes_admin_keys = True

    def sites(self, request: Request) -> SiteQuerySet[Site]:
        return administered_sites(request) if is_agency(request) else Site.objects.seen_by(request.user)

    @endpoint(responses.Acted, body=ActionRequest, scope=KeyScope.OPERATE)
    def post(self, request: Request, body: ActionRequest) -> Response:
        """Act on conversions.

        Rows that Google has or may have can be reset and marked failed, too: they keep `outcomeUnknown`, and the answer
        counts them. That takes nothing back at Google; sent again, a row has the same order id, which counts once.
        """
        site = self.site(request, body.siteId)
        if not Site.objects.run_by(request.user).filter(pk=site.pk).exists():
            raise PermissionDenied("Viewers have read access only.")
        if not QUEUE.may_operate(request.user):  # nor may a site's key, which is for its shop or script
            raise PermissionDenied(WITHOUT_GROUP)
        if request.auth and not body.reason:
            raise InvalidInput([{"field": "reason", "message": "This field is required: a key acts."}], 1)
        note = note_of(request) if is_agency(request) else ""
        with transaction.atomic(), for_reason(f"{body.reason} {note}".strip()):
            result = acknowledge.move_rows(site, body.ids, acknowledge.by_verb(site, verb_of(body)))
            in_doubt = Conversion.objects.filter(pk__any_of=result.ids, outcome_unknown=True).count()
        response = {"ok": True, "affected": result.moved, "skipped": result.skipped_rows()}
        return Response({**response, "outcomeUnknown": in_doubt})


def is_agency(request: Request) -> bool:
    return KeyScope.ADMIN in getattr(request.auth, "scopes", ())


def verb_of(body: ActionRequest) -> Callable[[ConversionQuerySet], set[UUID]]:
    if body.action == "RETRY_SELECTED":
        return lambda rows: rows.retry_selected()
    if body.action == "RESET_TO_QUEUED":
        return lambda rows: rows.reset_to_queued(clear_errors=body.clearErrors)
    options = {"code": body.errorCode, "category": body.errorCategory, "reason": body.reason}
    # The verb has defaults for what the body omits.
    return lambda rows: rows.mark_failed(**{name: value for name, value in options.items() if value})
