"""The script's endpoints: export, acknowledge, acknowledge failure."""

from typing import Any, cast

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication
from kilit.access.models import ApiKey
from kilit.api.errors import ApiError
from ociqueue import acknowledge, export
from ociqueue.api import schema
from ociqueue.api.authentication import ScriptSession, SessionTokenAuthentication, open_session
from ociqueue.api.serializers import AckFailedSerializer, AckSerializer, ExportSerializer, SiteSerializer
from ociqueue.models import Site
from ociqueue.states import SyncMethod


class ScriptView(APIView):
    """A view for a site's key; other sites are not found."""

    authentication_classes = [SessionTokenAuthentication]

    def site(self, request: Request, name: str) -> Site:
        sites = Site.objects.run_by(request.user)
        if isinstance(request.auth, ScriptSession):
            sites = sites.filter(pk=request.auth.site_id)
        site = sites.with_id(name).first()
        if site is None:
            raise NotFound("There is no such site.")
        return site


@schema.export
class ExportView(ScriptView):
    # No HEAD: it would claim rows and drop the response.
    http_method_names = ["get", "options"]

    def get(self, request: Request) -> Response:
        asked = read(ExportSerializer, request.query_params)
        site = self.site(request, asked["siteId"])
        refuse_other_sender(site)
        if asked["markAsExported"] != "true":
            return Response(export.preview(site, limit=asked["limit"]))
        refuse_pause(site)
        return Response(export.claim_items(site, limit=asked["limit"]))


@schema.ack
class AckView(ScriptView):
    def post(self, request: Request) -> Response:
        asked = read(AckSerializer, request.data)
        site = self.site(request, asked["siteId"])
        result = acknowledge.ack(site, asked["queueIds"], skipped=asked["skippedIds"] or [])
        return Response({"ok": True, "updated": result.moved, "ignored": result.skipped_rows()})


@schema.ack_failed
class AckFailedView(ScriptView):
    def post(self, request: Request) -> Response:
        asked = read(AckFailedSerializer, request.data)
        site = self.site(request, asked["siteId"])
        result = acknowledge.ack_failed(
            site,
            asked["queueIds"],
            code=asked["errorCode"],
            category=asked["errorCategory"],
            message=asked["errorMessage"] or "",
        )
        site.note_ack()
        return Response({"ok": True, "updated": result.moved, "ignored": result.skipped_rows()})


@schema.verify
class VerifyView(ScriptView):
    """The handshake of older scripts."""

    authentication_classes = [KeyAuthentication]

    def post(self, request: Request) -> Response:
        site = self.site(request, read(SiteSerializer, request.data)["siteId"])
        token, expires_at = open_session(cast("ApiKey", request.auth), site)
        return Response({"session_token": token, "expires_at": expires_at.isoformat(timespec="seconds")})


def read(serializer: Any, data: Any) -> dict[str, Any]:
    """Return the validated request, or raise ValidationError with every invalid field."""
    asked = serializer(data=data)
    asked.is_valid(raise_exception=True)
    return dict(asked.validated_data)


def refuse_other_sender(site: Site) -> None:
    if site.sync_method != SyncMethod.SCRIPT:
        raise ApiError(409, "NOT_A_SCRIPT_SITE", "This site uses the Google Ads API; remove its script.")


def refuse_pause(site: Site) -> None:
    if site.is_paused:
        raise ApiError(503, "SITE_PAUSED", f"The site is paused: {site.pause_reason}", retry_after=3600)
