"""The operators' endpoints: session authentication, limited to the user's sites."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import SessionAuthentication
from kilit.lock.audit import for_reason
from ociqueue import acknowledge, presenters
from ociqueue.api import schema
from ociqueue.api.script import find_site, read
from ociqueue.api.serializers import ActionSerializer, RowsSerializer, StatsSerializer
from ociqueue.models import Site
from ociqueue.models.queryset import ConversionQuerySet


class OperatorView(APIView):
    """A view for users; sites of which they are not a member are not found."""

    authentication_classes = [SessionAuthentication]

    def site(self, request: Request, name: str) -> Site:
        return find_site(Site.objects.seen_by(request.user), name)


@schema.stats
class StatsView(OperatorView):
    def get(self, request: Request) -> Response:
        asked = read(StatsSerializer, request.query_params)
        if asked["scope"] == "multi":
            return Response(presenters.summed_stats(list(Site.objects.seen_by(request.user))))
        return Response(presenters.stats(self.site(request, asked["siteId"])))


@schema.rows
class RowsView(OperatorView):
    def get(self, request: Request) -> Response:
        asked = read(RowsSerializer, request.query_params)
        site = self.site(request, asked["siteId"])
        filters = {"status": asked.get("status"), "cursor": asked.get("cursor")}
        try:
            return Response(presenters.rows_page(site, limit=asked["limit"], **filters))
        except ValueError as error:
            raise ValidationError({"cursor": str(error)}) from None


@schema.actions
class ActionsView(OperatorView):
    def post(self, request: Request) -> Response:
        asked = read(ActionSerializer, request.data)
        site = self.site(request, asked["siteId"])
        if not Site.objects.run_by(request.user).filter(pk=site.pk).exists():
            raise PermissionDenied("Viewers have read access only.")
        with for_reason(asked.get("reason", "")):
            result = acknowledge.move_rows(site, asked["ids"], verb_of(asked))
        return Response({"ok": True, "affected": result.moved, "skipped": result.skipped_rows()})


def verb_of(asked: dict[str, Any]) -> Callable[[ConversionQuerySet], set[UUID]]:
    if asked["action"] == "RETRY_SELECTED":
        return lambda rows: rows.retry_selected()
    if asked["action"] == "RESET_TO_QUEUED":
        return lambda rows: rows.reset_to_queued(clear_errors=asked["clearErrors"])
    given = {"code": asked.get("errorCode"), "category": asked.get("errorCategory"), "reason": asked.get("reason")}
    # The verb has defaults for what the body omits.
    return lambda rows: rows.mark_failed(**{name: value for name, value in given.items() if value})
