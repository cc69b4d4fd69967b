"""The endpoints for a site's key: send, export, acknowledge, acknowledge failure."""

from collections import Counter
from typing import cast

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication
from kilit.access.models import ApiKey
from kilit.api.errors import ApiError
from ociqueue import acknowledge, export, schemas
from ociqueue.api import schema
from ociqueue.api.authentication import ScriptSession, SessionTokenAuthentication, open_session
from ociqueue.enqueue import enqueue
from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.states import SyncMethod


class ScriptView(APIView):
    """A view for a site's key; other sites are not found."""

    authentication_classes = [SessionTokenAuthentication]

    def site(self, request: Request, name: str) -> Site:
        sites = Site.objects.run_by(request.user)
        if isinstance(request.auth, ScriptSession):
            sites = sites.filter(pk=request.auth.site_id)
        return find_site(sites, name)


@schema.conversions
class EnqueueView(ScriptView):
    authentication_classes = [KeyAuthentication]  # a script's session may only export and acknowledge

    def post(self, request: Request) -> Response:
        asked = schemas.EnqueueRequest.read(request.data)
        results = enqueue(self.site(request, asked.siteId), asked.conversions)
        found = Counter(result["status"] for result in results)
        counts = {"created": found["created"], "duplicates": found["duplicate"], "invalid": found["invalid"]}
        return Response({"ok": True, **counts, "results": results})


@schema.export
class ExportView(ScriptView):
    # No HEAD: it would claim rows and drop the response.
    http_method_names = ["get", "options"]

    def get(self, request: Request) -> Response:
        asked = schemas.ExportQuery.read(request.query_params.dict())
        site = self.site(request, asked.siteId)
        if site.sync_method != SyncMethod.SCRIPT:
            raise ApiError(409, "NOT_A_SCRIPT_SITE", "This site uses the Google Ads API; remove its script.")
        if asked.markAsExported != "true":
            return Response(export.preview(site, limit=asked.limit))
        if site.is_paused:
            raise ApiError(503, "SITE_PAUSED", f"The site is paused: {site.pause_reason}", retry_after=3600)
        return Response(export.claim_items(site, limit=asked.limit))


@schema.ack
class AckView(ScriptView):
    def post(self, request: Request) -> Response:
        asked = schemas.AckRequest.read(request.data)
        site = self.site(request, asked.siteId)
        result = acknowledge.ack(site, asked.queueIds, skipped=asked.skippedIds or [])
        return Response({"ok": True, "updated": result.moved, "ignored": result.skipped_rows()})


@schema.ack_failed
class AckFailedView(ScriptView):
    def post(self, request: Request) -> Response:
        asked = schemas.AckFailedRequest.read(request.data)
        site = self.site(request, asked.siteId)
        error = {"code": asked.errorCode, "category": asked.errorCategory, "message": asked.errorMessage}
        result = acknowledge.ack_failed(site, asked.queueIds, **error)
        site.note_ack()
        return Response({"ok": True, "updated": result.moved, "ignored": result.skipped_rows()})


@schema.verify
class VerifyView(ScriptView):
    """The handshake of older scripts."""

    authentication_classes = [KeyAuthentication]

    def post(self, request: Request) -> Response:
        site = self.site(request, schemas.SiteRequest.read(request.data).siteId)
        token, expires_at = open_session(cast("ApiKey", request.auth), site)
        return Response({"session_token": token, "expires_at": expires_at.isoformat(timespec="seconds")})


def find_site(sites: SiteQuerySet, name: str) -> Site:
    if site := sites.with_id(name).first():
        return site
    raise NotFound("There is no such site.")
