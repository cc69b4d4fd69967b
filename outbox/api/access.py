"""Who sees and manages which endpoints: a site's key and its operators manage the site's, owners all."""

from collections.abc import Iterable
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.views import APIView

from kilit.access.key_scopes import KeyScope
from kilit.api.input_model import InvalidInput
from kilit.api.webhooks import kinds_beyond
from kilit.sites.scopes import INSTALLATION, scope_public_ids, scopes_run_by, scopes_seen_by
from outbox.endpoints import record_change
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import EndpointQuerySet
from outbox.schemas import read_message_id

NO_ENDPOINT = {404: {"NOT_FOUND": "There is no such endpoint, or it belongs to another site."}}
NO_MESSAGE = {404: {"NOT_FOUND": "There is no such message, or it belongs to another site."}}


# Memberships decide, not permissions: the user of a site's keys is in no group.
def visible_endpoints(user: User | AnonymousUser) -> EndpointQuerySet:
    return Endpoint.objects.of_scopes(scopes_seen_by(user))


def managed_endpoints(user: User | AnonymousUser) -> EndpointQuerySet:
    return Endpoint.objects.of_scopes(scopes_run_by(user))


def scope_for(user: User | AnonymousUser, site_id: str | None) -> str:
    public_ids, runs = scope_public_ids(), scopes_run_by(user)
    if site_id is None and runs is None:
        return INSTALLATION
    managed = list(public_ids) if runs is None else runs
    if site_id is not None:
        scopes = [scope for scope in managed if site_id in (public_ids.get(scope), scope)]
        if not scopes:
            raise field_error("site_id", "There is no such site, or you do not manage it.")
        return scopes[0]
    if not managed:
        raise PermissionDenied("Only operators of a site and owners manage endpoints.")
    if len(managed) > 1:
        raise field_error("site_id", "This is required: you manage several sites.")
    return managed[0]


def check_kinds(scope: str, kinds: Iterable[str]) -> None:
    if beyond := kinds_beyond(scope, kinds):
        raise field_error("kinds", f"These are not reported to endpoints of a site: {', '.join(beyond)}.")


def field_error(field: str, message: str) -> InvalidInput:
    return InvalidInput([{"field": field, "message": message}], 1)


def note_of(request: Request) -> str:
    """Return what the history says about an agency's key: its user alone may have several."""
    return f"With the API key {request.auth}." if KeyScope.ADMIN in getattr(request.auth, "scopes", ()) else ""


def read_id(text: str) -> UUID:
    """Return an id; a malformed one is answered like an unknown one."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


class OutboxView(APIView):
    tag = "Webhooks"
    takes_admin_keys = True  # an agency's key manages the webhooks of all its user's sites
    errors: ClassVar = {403: {"FORBIDDEN": "Viewers have read access only, or the CSRF token is missing."}}

    def check_permissions(self, request: Request) -> None:
        """Let an agency's key in only as long as the pages let its user in."""
        super().check_permissions(request)
        if note_of(request) and not request.user.has_perm("outbox.operate_endpoint"):
            raise PermissionDenied("The user of this key may not manage webhooks.")

    @staticmethod
    def record(request: Request, endpoint: Endpoint, verb: str, message: str = "", **options: Any) -> None:
        record_change(endpoint, verb, f"{message} {note_of(request)}".strip(), **options)

    def find_endpoint(self, request: Request, pk: str) -> Endpoint:
        """Return an endpoint that the caller sees; to change it, the caller must manage it."""
        endpoint = visible_endpoints(request.user).filter(pk=read_id(pk)).first()
        if endpoint is None:
            raise NotFound("There is no such endpoint.")
        if request.method not in SAFE_METHODS:
            self.require_manager(request, endpoint)
        return endpoint

    def find_message(self, request: Request, pk: str) -> OutboxMessage:
        rows = OutboxMessage.objects.of_scopes(scopes_seen_by(request.user)).select_related("endpoint")
        message = rows.filter(pk=read_id(read_message_id(pk))).first()
        if message is None or message.endpoint is None:
            raise NotFound("There is no such message.")
        if request.method not in SAFE_METHODS:
            self.require_manager(request, message.endpoint)
        return message

    @staticmethod
    def require_manager(request: Request, endpoint: Endpoint) -> None:
        if not managed_endpoints(request.user).filter(pk=endpoint.pk).exists():
            raise PermissionDenied("Viewers have read access only.")


class OneEndpointView(OutboxView):
    parameters = (OpenApiParameter("id", str, OpenApiParameter.PATH, description="The endpoint's id."),)
    errors: ClassVar = {**OutboxView.errors, **NO_ENDPOINT}


class OneMessageView(OutboxView):
    parameters = (
        OpenApiParameter("id", str, OpenApiParameter.PATH, description="The message's id, as in `webhook-id`."),
    )
    errors: ClassVar = {**OutboxView.errors, **NO_MESSAGE}
