"""The endpoints that look conversions up, for a key with the scope `read`."""

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import KeyAuthentication
from kilit.access.key_scopes import KeyScope
from kilit.api.input_model import InvalidInput
from kilit.api.openapi import ApiResponse, endpoint
from ociqueue.api.script import EnqueueView, ScriptView, find_site, only_site
from ociqueue.files.exports import JSON_LINES, history_response
from ociqueue.models import Site
from ociqueue.operating.lookups import look_up
from ociqueue.schemas.lookups import ConversionsFound, HistoryQuery, LookedUp, LookupQuery, LookupRequest


class ReadView(ScriptView):
    authentication_classes = [KeyAuthentication]  # a script's session may only export and acknowledge


class ConversionsView(EnqueueView):
    """Takes new conversions, and looks up old ones."""

    @endpoint(ConversionsFound, query=LookupQuery)
    def get(self, request: Request, query: LookupQuery) -> Response:
        """Look a conversion up.

        By exactly one of `id`, `sourceKey` and `orderId`. A source key finds the conversions that were sent with it and
        the corrected copies that were sent in their place; one that was not replaced is current. An id or an order id
        finds the conversions that have it.
        """
        refuse_repeated(request)
        site = site_to_read(request, query.siteId)
        (result,) = look_up(site, [query])
        return Response({"siteId": site.public_id, "conversions": result["conversions"], "hasMore": result["hasMore"]})


class HistoryView(ReadView):
    @endpoint(
        ApiResponse(
            "A line for each conversion, the oldest first.",
            media={"text/csv": {"type": "string"}, JSON_LINES: {"type": "string"}},
            headers={"Content-Disposition": "The file's name."},
        ),
        query=HistoryQuery,
    )
    def get(self, request: Request, query: HistoryQuery) -> StreamingHttpResponse:
        """Export conversions.

        Those that were created in a time span, in the state they are in now, as CSV or as JSON lines. Click ids are
        masked.
        """
        refuse_repeated(request)
        site = site_to_read(request, query.siteId)
        return history_response([site], start=query.start, end=query.end, file_format=query.format)


class LookupManyView(ReadView):
    @endpoint(LookedUp, body=LookupRequest, scope=KeyScope.READ)
    def post(self, request: Request, body: LookupRequest) -> Response:
        """Look many conversions up.

        At most 1,000, each as in the lookup of one. The results are in the order of the request; what is not found has
        the status `notFound`.
        """
        site = site_to_read(request, body.siteId)
        results = look_up(site, body.lookups)
        matches = sum(result["status"] == "found" for result in results)
        counts = {"found": matches, "notFound": len(results) - matches}
        return Response({"siteId": site.public_id, **counts, "results": results})


def site_to_read(request: Request, name: str | None) -> Site:
    """Return the site that is named, or else the only one of the key; viewers may read, too."""
    sites = Site.objects.seen_by(request.user)
    return only_site(sites) if name is None else find_site(sites, name)


def refuse_repeated(request: Request) -> None:
    """Refuse a parameter that is given twice: the answer would be about one of them only."""
    repeated = [name for name, values in request.query_params.lists() if len(values) > 1]
    if repeated:
        raise InvalidInput([{"field": name, "message": "Given more than once."} for name in repeated], len(repeated))
