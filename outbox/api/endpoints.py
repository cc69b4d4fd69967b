"""The endpoints of endpoints: addresses that webhooks are posted to."""

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.errors import ApiError
from kilit.api.openapi import ApiResponse, endpoint
from kilit.lock.models import ActivityKind
from outbox import replaying, schemas
from outbox.api.access import (
    OneEndpointView,
    OutboxView,
    check_kinds,
    managed_endpoints,
    note_of,
    scope_for,
    visible_endpoints,
)
from outbox.api.presenters import present_endpoint, present_endpoints, present_message
from outbox.endpoints import send_test, switch
from outbox.models import Endpoint

MOST_ENDPOINTS = 50  # of a site, or of the installation
REPLAY_SECONDS = 10.0
IS_OFF = {409: {"ENDPOINT_OFF": "The endpoint is off."}}


class EndpointsView(OutboxView):
    @endpoint(schemas.Endpoints)
    def get(self, request: Request) -> Response:
        """List endpoints."""
        endpoints = visible_endpoints(request.user)
        return Response({"endpoints": present_endpoints(endpoints, managed_endpoints(request.user))})

    @endpoint(
        responses={201: ApiResponse("The new endpoint, with its secret.", schemas.EndpointWithSecret)},
        body=schemas.NewEndpoint,
        errors={409: {"TOO_MANY_ENDPOINTS": f"A site, and the installation, has at most {MOST_ENDPOINTS} endpoints."}},
    )
    def post(self, request: Request, body: schemas.NewEndpoint) -> Response:
        """Create an endpoint.

        The answer contains the secret that signs messages. It cannot be read again.
        """
        scope = scope_for(request.user, body.site_id)
        if Endpoint.objects.filter(scope=scope).count() >= MOST_ENDPOINTS:
            raise ApiError(409, "TOO_MANY_ENDPOINTS", f"There are {MOST_ENDPOINTS} endpoints already.")
        check_kinds(scope, body.kinds)
        row = Endpoint(url=body.url, kinds=body.kinds, description=body.description, scope=scope)
        with transaction.atomic():
            secret = row.make_secret()
            row.save()
            self.record(request, row, "added")
        row.refresh_from_db()
        return Response({**present_endpoint(row, is_manager=True), "secret": secret}, status=201)


class EndpointView(OneEndpointView):
    @endpoint(schemas.EndpointShown)
    def get(self, request: Request, pk: str) -> Response:
        """Get an endpoint."""
        row = self.find_endpoint(request, pk)
        is_manager = managed_endpoints(request.user).filter(pk=row.pk).exists()
        return Response(present_endpoint(row, is_manager=is_manager))

    @endpoint(schemas.EndpointShown, body=schemas.EndpointChanges)
    def patch(self, request: Request, body: schemas.EndpointChanges, pk: str) -> Response:
        """Change an endpoint's URL, kinds or description.

        Messages that wait go to the new URL.
        """
        row = self.find_endpoint(request, pk)
        changes = body.model_dump(exclude_none=True)
        check_kinds(row.scope, changes.get("kinds", ()))
        with transaction.atomic():
            if changes and Endpoint.objects.filter(pk=row.pk).change(**changes):
                self.record(request, row, "changed", f"Changed {', '.join(sorted(changes))}.")
        row.refresh_from_db()
        return Response(present_endpoint(row, is_manager=True))

    @endpoint(
        responses={204: ApiResponse("Deleted.")},
        errors={409: {"ENDPOINT_HAS_MESSAGES": "Messages to it are kept; switch it off instead."}},
    )
    def delete(self, request: Request, pk: str) -> Response:
        """Delete an endpoint that has no messages.

        One with messages can be switched off; it can be deleted once they are pruned.
        """
        row = self.find_endpoint(request, pk)
        with transaction.atomic():
            Endpoint.objects.select_for_update().filter(pk=row.pk).first()  # no message is added meanwhile
            if row.messages.exists():
                raise ApiError(409, "ENDPOINT_HAS_MESSAGES", "Messages to it are kept; switch it off instead.")
            self.record(request, row, "deleted")
            row.delete()
        return Response(status=204)


class RotateSecretView(OneEndpointView):
    @endpoint(schemas.EndpointWithSecret)
    def post(self, request: Request, pk: str) -> Response:
        """Make a new secret.

        For 24 hours messages are signed with both, so a receiver can change its own in between.
        """
        row = self.find_endpoint(request, pk)
        with transaction.atomic():
            secret = row.rotate_secret()
            self.record(request, row, "changed", "Rotated the signing secret.", kind=ActivityKind.KEY)
        return Response({**present_endpoint(row, is_manager=True), "secret": secret})


class SwitchView(OneEndpointView):
    def switch(self, request: Request, pk: str, *, on: bool) -> Response:
        row = self.find_endpoint(request, pk)
        switch(row, on=on, why=f". {note_of(request)}".rstrip())
        row.refresh_from_db()
        return Response(present_endpoint(row, is_manager=True))


class SwitchOnView(SwitchView):
    @endpoint(schemas.EndpointShown)
    def post(self, request: Request, pk: str) -> Response:
        """Switch an endpoint on.

        Messages that wait are sent. What happened while it was off is not sent by itself; replay it.
        """
        return self.switch(request, pk, on=True)


class SwitchOffView(SwitchView):
    @endpoint(schemas.EndpointShown)
    def post(self, request: Request, pk: str) -> Response:
        """Switch an endpoint off.

        Messages that wait are kept, and fail after four days.
        """
        return self.switch(request, pk, on=False)


class SendTestView(OneEndpointView):
    @endpoint(
        responses={201: ApiResponse("The message; get it to see its attempts.", schemas.MessageShown)}, errors=IS_OFF
    )
    def post(self, request: Request, pk: str) -> Response:
        """Send a test message."""
        row = self.find_endpoint(request, pk)
        if not row.is_on:
            raise ApiError(409, "ENDPOINT_OFF", "The endpoint is off. Switch it on first.")
        with transaction.atomic():
            message = send_test(row)
            self.record(request, row, "changed", "Sent a test.")
        message.refresh_from_db()
        return Response(present_message(message), status=201)


class ReplayView(OneEndpointView):
    @endpoint(schemas.Replayed, body=schemas.ReplayRequest, errors=IS_OFF)
    def post(self, request: Request, body: schemas.ReplayRequest, pk: str) -> Response:
        """Replay a time span.

        Messages about what happened in it are sent again under their own ids, and events that the endpoint has no
        message about get one. A request works for ten seconds; a long span takes several.
        """
        row = self.find_endpoint(request, pk)
        span = replaying.Span(body.start, body.end)
        replay = replaying.Replay(row, span, failed_only=body.failed_only)
        try:
            result = replay.run(after=body.resume_after, seconds=REPLAY_SECONDS)
        except replaying.ReplayRefused as error:
            raise ApiError(409, "ENDPOINT_OFF", str(error)) from None
        self.record(request, row, "changed", f"Replayed {span}.")
        return Response(vars(result))
